// SPDX-License-Identifier: MIT
/// Which algorithm the twin predicts to be the fastest on a machine, and why not the others.
///
/// All that fits the machine is listed (candidates.hpp). Every plan has a limit that its time
/// cannot be below, which is quick to work out (predict.hpp); plans are simulated in the order of
/// these limits until what is left cannot be better by more than `tolerance` than the best so far.
/// So the choice is within the tolerance of the best of all listed, whatever was not simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/collectives/selector/candidates.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/search.hpp"
#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// What is asked for.
struct Question {
  Request request;
  std::uint64_t bytes = 0;  ///< of all blocks of the request together, which are equally long
  std::size_t element_bytes = 4;

  bool operator==(const Question&) const = default;
};

/// "1.28 times as long"; "as long" for 1 and what differs from it by less than half a percent.
[[nodiscard]] std::string times_as_long(double ratio);

/// One that was not taken.
struct Rejected {
  std::string spec;
  /// Simulated; nothing where the reason does without: then `at_least` tells.
  std::optional<double> seconds;
  double at_least = 0;  ///< seconds that it takes whatever happens; 0 where not known
  std::string why;      ///< one line: "1.4 times as long; numa0 -> numa1 limits it"
};

struct PredictedChoice {
  std::string spec;
  double seconds = 0;     ///< simulated, also where a measurement decided
  bool measured = false;  ///< a row of the tuning table decided
  std::string why;        ///< one line
  /// What most of its critical path is spent on: a resource's name, or "issuing ops" or "latency".
  std::string limit;
  double limit_share = 0;  ///< of its time, 0 to 1
  Bound bound;             ///< the greatest that holds for any plan
  double bound_seconds = 0;
  /// The best of every other algorithm, fastest first, then those that cannot serve the request.
  std::vector<Rejected> others;
  std::size_t listed = 0;     ///< plans that were considered
  std::size_t simulated = 0;  ///< of these
};

/// Predicts and chooses for one machine. What does not depend on the size is worked out once and
/// kept, so one object serves many sizes. Not for several threads at once.
class Predictor {
 public:
  struct Settings {
    SearchSettings search;
    Breadth breadth = Breadth::fitting;
    bool others = true;  ///< tells of those that were not taken, which takes longer
  };

  /// `gpus`: of each rank, index in Topology::gpus(); empty: rank i on GPU i. The machine must
  /// outlive it. Throws Error(invalid_argument) for GPUs that do not exist.
  Predictor(const Machine& machine, std::vector<int> gpus, Settings settings);
  explicit Predictor(const Machine& machine, std::vector<int> gpus = {});
  Predictor(Predictor&&) noexcept;
  ~Predictor();

  /// The same answer for the same machine, question and table, and for both placements where ranks
  /// may differ in theirs (chooses_by_placement). Rows of `measured` for `setting`'s backend,
  /// this collective and as many ranks come first. Throws Error(unsupported) for barrier, which
  /// needs none; Error(invalid_argument) for a request that is not of as many ranks as there are
  /// GPUs.
  [[nodiscard]] PredictedChoice choose(const Question& asked, const TuningTable* measured = nullptr,
                                       const ChoiceSetting& setting = {"cuda", 1});

  /// The simulated time of one spec, in seconds.
  [[nodiscard]] double predict(const Question& question, const std::string& spec);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringside
