// SPDX-License-Identifier: MIT
/// The names of the error codes.
#include "ringside/base/error.hpp"

namespace ringside {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::bad_input:
      return "bad_input";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::failed:
      return "failed";
    case ErrorCode::io:
      return "io";
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::device:
      return "device";
    case ErrorCode::corrupted:
      return "corrupted";
  }
  return "unknown";  // a value that came through the C interface
}

}  // namespace ringside
