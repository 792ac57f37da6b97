// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/step.hpp"

#include <fmt/format.h>

#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

std::string end_name(int device) { return device == host ? "host" : std::to_string(device); }

}  // namespace

std::string to_string(const Flow& flow) {
  return fmt::format("{} -> {}", end_name(flow.source), end_name(flow.destination));
}

std::string_view to_string(Quantity quantity) {
  switch (quantity) {
    case Quantity::check:
      return "check";
    case Quantity::latency:
      return "latency";
    case Quantity::bandwidth:
      return "bandwidth";
  }
  return "?";
}

std::string_view to_string(Traffic traffic) {
  switch (traffic) {
    case Traffic::one_way:
      return "one_way";
    case Traffic::both_ways:
      return "both_ways";
    case Traffic::pairs:
      return "pairs";
    case Traffic::ring:
      return "ring";
    case Traffic::all_to_all:
      return "all_to_all";
    case Traffic::all_devices:
      return "all_devices";
  }
  return "?";
}

std::string_view to_string(Method method) {
  switch (method) {
    case Method::peer_copy:
      return "peer_copy";
    case Method::kernel_store:
      return "kernel_store";
    case Method::kernel_load:
      return "kernel_load";
    case Method::host_copy:
      return "host_copy";
  }
  return "?";
}

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::done:
      return "done";
    case Ending::hang:
      return "hang";
    case Ending::error:
      return "error";
    case Ending::blocked:
      return "blocked";
    case Ending::no_time:
      return "no_time";
    case Ending::no_memory:
      return "no_memory";
    case Ending::no_device:
      return "no_device";
  }
  return "?";
}

std::string access_words(const Step& step) {
  for (const auto& flow : step.flows)
    if (!flow.touches_host() && flow.source != flow.destination)
      return step.peer_access ? ", P2P enabled" : ", P2P disabled";
  return {};
}

std::string to_string(const Step& step) {
  const bool few = step.flows.size() == 1 || step.traffic == Traffic::both_ways;
  return fmt::format("{}, {}{}, {}{}, {}", to_string(step.quantity), to_string(step.traffic),
                     few && !step.flows.empty() ? " " + to_string(step.flows.front()) : "",
                     to_string(step.method), access_words(step), format_bytes(step.bytes));
}

}  // namespace ringside::bench::preflight
