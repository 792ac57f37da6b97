// SPDX-License-Identifier: MIT
/// One algorithm for the four collectives that have a root.
#pragma once

#include <utility>

#include "ringside/collectives/algorithm.hpp"

namespace ringside {

/// How it writes each of them, for a group and a root.
struct RootedStreams {
  OpStream (*broadcast)(Group g, int root);
  OpStream (*reduce)(Group g, int root);
  OpStream (*gather)(Group g, int root);
  OpStream (*scatter)(Group g, int root);
};

/// The algorithm for a request of one of the four: one chunk a block, one lane.
[[nodiscard]] inline Algorithm rooted_algorithm(const Request& request,
                                                const RootedStreams& streams) {
  const auto write = request.collective == Collective::broadcast ? streams.broadcast
                     : request.collective == Collective::reduce  ? streams.reduce
                     : request.collective == Collective::gather  ? streams.gather
                                                                 : streams.scatter;
  return {.chunks = 1, .lanes = 1, .write = [write, root = request.root](Group g) {
            return write(std::move(g), root);
          }};
}

}  // namespace ringside
