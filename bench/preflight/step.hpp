// SPDX-License-Identifier: MIT
/// A step of the preflight: some copies at once, checked or timed; and what came of it. Values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/preflight/facts.hpp"
#include "ringside/bench/preflight/pattern.hpp"

namespace ringside::bench::preflight {

/// The end of a flow that is no device: pinned memory of the host.
inline constexpr int host = -1;

/// A one-way copy.
struct Flow {
  int source = host, destination = host;

  [[nodiscard]] bool touches_host() const { return source == host || destination == host; }
  auto operator<=>(const Flow&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
};

/// "0 -> 1", "host -> 1".
[[nodiscard]] std::string to_string(const Flow& flow);

enum class Quantity { check, latency, bandwidth };
inline constexpr std::array all_quantities = {Quantity::check, Quantity::latency,
                                              Quantity::bandwidth};

/// Which flows go at once.
enum class Traffic {
  one_way,      ///< a single flow
  both_ways,    ///< one and its reverse
  pairs,        ///< 0 and 1, 2 and 3, ... both ways
  ring,         ///< every device to the next
  all_to_all,   ///< every ordered pair
  all_devices,  ///< the host and every device
};
inline constexpr std::array all_traffics = {Traffic::one_way,    Traffic::both_ways,
                                            Traffic::pairs,      Traffic::ring,
                                            Traffic::all_to_all, Traffic::all_devices};

enum class Method {
  peer_copy,     ///< cudaMemcpyPeerAsync in a stream of the source; within a device the same
  kernel_store,  ///< a kernel of the source stores to the destination
  kernel_load,   ///< a kernel of the destination loads from the source
  host_copy,     ///< cudaMemcpyAsync from or to pinned memory
};
inline constexpr std::array all_methods = {Method::peer_copy, Method::kernel_store,
                                           Method::kernel_load, Method::host_copy};

[[nodiscard]] std::string_view to_string(Quantity quantity);
[[nodiscard]] std::string_view to_string(Traffic traffic);
[[nodiscard]] std::string_view to_string(Method method);

struct Step {
  Quantity quantity = Quantity::check;
  Traffic traffic = Traffic::one_way;
  Method method = Method::peer_copy;
  bool peer_access = false;  ///< between the devices of the flows: enabled where possible, or off
  std::vector<Flow> flows;
  std::uint64_t bytes = 0;  ///< of each flow; of a bandwidth at most
  Seconds time{0};          ///< of a bandwidth: about how long one sample should take

  bool operator==(const Step&) const = default;
};

/// "check, one_way 0 -> 1, peer_copy, P2P enabled, 4 MiB": for the progress line and for reasons.
[[nodiscard]] std::string to_string(const Step& step);

/// ", P2P enabled" or ", P2P disabled", or nothing where P2P has no meaning (host, one device).
[[nodiscard]] std::string access_words(const Step& step);

enum class Ending {
  done,
  hang,       ///< did not end within its limit; the process was killed
  error,      ///< the runtime reported an error, or the process ended
  blocked,    ///< not run: one of its flows hung or failed before
  no_time,    ///< not run, or cut short: the time for all steps was up
  no_memory,  ///< not run: too little memory is free
  no_device,  ///< not measured: the devices are virtual
};
inline constexpr std::array all_endings = {Ending::done,     Ending::hang,    Ending::error,
                                           Ending::blocked,  Ending::no_time, Ending::no_memory,
                                           Ending::no_device};
[[nodiscard]] std::string_view to_string(Ending ending);

/// What came of a step.
struct Outcome {
  Ending ending = Ending::done;
  std::string text;               ///< why, of all endings but done
  std::vector<Verdict> verdicts;  ///< of a check, one a flow; the worst of several tries
  std::vector<Seconds> times;     ///< of one copy, one a flow: medians
  Seconds together{0};      ///< of a bandwidth: one copy of all flows, until the last has ended
  std::uint64_t bytes = 0;  ///< of a flow, as measured
  Link link;                ///< of the device, under load; of a copy between it and the host
  int samples = 0;          ///< of each median
};

struct Result {
  Step step;
  Outcome outcome;
};

}  // namespace ringside::bench::preflight
