// SPDX-License-Identifier: MIT
/// What libtorch throws, as an Error of ours. For the sources of this folder.
#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "ringside/base/error.hpp"

namespace ringside::trainer::torch_engine {

/// What libtorch throws is many lines long, most of them its call stack.
template <class Body>
decltype(auto) in_our_words(Body&& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw Error(ErrorCode::internal, "libtorch: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace ringside::trainer::torch_engine
