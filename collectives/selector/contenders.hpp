// SPDX-License-Identifier: MIT
/// The plans that compete for a request on a machine: all candidates, with slices and lanes, each
/// with limits that its time cannot be below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/selector/candidates.hpp"
#include "ringside/collectives/selector/predict.hpp"

namespace ringside {

/// A plan but for its slices. Sliced and unsliced ones are apart, as their lanes differ.
struct Contender {
  Spec spec;  ///< without slices; with lanes where these are not as the algorithm wants
  std::string algorithm;
  bool sliced = false;
  bool fits = false;  ///< its groups are of the machine's
  std::shared_ptr<const MappedPlan> mapped;
};

class Contenders {
 public:
  /// The machine must outlive it.
  Contenders(const Machine& machine, std::vector<int> gpus, const Request& request,
             Breadth breadth);

  [[nodiscard]] std::span<const Contender> all() const { return all_; }
  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  [[nodiscard]] const Request& request() const { return request_; }

  /// The numbers of slices that are worth looking at.
  [[nodiscard]] std::vector<int> slices(const Contender& contender, const CallSize& size) const;
  [[nodiscard]] LowerLimit limit(const Contender& contender, const CallSize& size,
                                 int slices) const;
  /// What issuing all its ops takes, were there no bytes to move, in seconds.
  [[nodiscard]] static double overhead(const Contender& contender, int slices);
  [[nodiscard]] static Spec spec_of(const Contender& contender, int slices);

 private:
  void add(const Candidate& candidate);
  void add(Contender contender);
  [[nodiscard]] std::shared_ptr<const MappedPlan> mapped(const Spec& spec);

  const Machine& machine_;
  std::vector<int> gpus_;
  Request request_;
  bool is_staged_;  ///< some data go through the host
  Candidates candidates_;
  std::vector<Contender> all_;
  std::multimap<std::uint64_t, std::size_t> by_hash_;  // of the mapped plan
};

}  // namespace ringside
