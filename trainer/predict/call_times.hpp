// SPDX-License-Identifier: MIT
/// How long the calls of a training step take on a machine, by the twin: simulated once each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ringside/collectives/request.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside::trainer {

/// One collective call, on the first GPUs of the machine.
struct TrainingCall {
  Request request;
  std::size_t block_elements = 0;  ///< of each block, all equally long
  std::size_t element_bytes = 4;

  [[nodiscard]] std::size_t bytes() const;  ///< of all blocks together
  bool operator==(const TrainingCall&) const = default;
};

struct CallTime {
  double seconds = 0;  ///< simulated
  double waiting = 0;  ///< of these: latencies, and what it takes to issue calls and ops
  std::string spec;    ///< what ran
};

/// Takes the word for what NCCL's rings do beside specs of ours, for people to compare with.
inline constexpr std::string_view nccl_word = "nccl";

class CallTimes {
 public:
  /// The machine must outlive it.
  explicit CallTimes(const Machine& machine);
  CallTimes(CallTimes&&) noexcept;
  ~CallTimes();

  /// `algorithm`: a spec; empty: the predicted choice, as the library makes it (for the nearest
  /// power of two); "nccl": NCCL's rings, of an all_reduce. Throws what simulate() throws, and
  /// Error(unsupported) where there is no such thing.
  [[nodiscard]] const CallTime& of(const TrainingCall& call, const std::string& algorithm);

  [[nodiscard]] int gpus() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringside::trainer
