// SPDX-License-Identifier: MIT
/// What subjects run on at one collective and one number of ranks: a team, the memory of its ranks
/// and the contributions of checked calls.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "ringside/bench/checked_data.hpp"
#include "ringside/bench/request.hpp"
#include "ringside/bench/subject.hpp"
#include "ringside/bench/team.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// A rank's part of a call, in elements.
struct CallShape {
  std::size_t input = 0, output = 0;        ///< lengths
  std::size_t input_at = 0, output_at = 0;  ///< in place: where both lie in one memory, else 0
  bool shared = false;                      ///< in place, and the rank holds data in both

  /// Of the memory that holds the output, and in place the input too.
  [[nodiscard]] std::size_t memory(bool in_place) const {
    if (!in_place) return output;
    return input_at + input > output_at + output ? input_at + input : output_at + output;
  }
};

/// For blocks of `count` elements.
[[nodiscard]] CallShape call_shape(const Request& request, int rank, std::size_t count);

/// How a stage's ranks run, where there are several ways to measure.
struct StageMode {
  std::string issue = {};  ///< GPUs: "streams" or "graphs"; empty: there is but one way
  std::string copies = {};
  std::string label = {};  ///< what distinguishes it from the others measured; empty: nothing
};

/// The subjects of one stage take turns on it.
class Stage {
 public:
  struct Memory {
    std::byte* input;
    std::byte* output;
  };

  /// A checked call of one rank. The memory of `write` and `read` is the host's, that of `call` the
  /// rank's; they may be the same.
  struct CheckedCall {
    Placement placement;
    CallShape shape;
    std::size_t element_bytes;
    std::function<void(const Memory&)> write;  ///< before the call
    std::function<void(const Memory&, const CallOptions&)> call;
    std::function<void(const Memory&)> read;  ///< when it is complete
  };

  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] Team& team() { return *team_; }
  [[nodiscard]] Request request(Placement placement) const;
  [[nodiscard]] std::optional<Seconds> timeout() const { return timeout_; }
  [[nodiscard]] const StageMode& mode() const { return mode_; }

  /// Times one block of calls: see Subject::time.
  [[nodiscard]] virtual BlockTimes time(const Cell& cell, const Block& block,
                                        const CallOptions& options) = 0;
  /// No sample shall be shorter than this: the clock would be a part of it.
  [[nodiscard]] virtual Seconds shortest_sample() const = 0;

  /// Makes a checked call of a rank, on its thread. `options` are those of the call, but for what
  /// the stage adds to them.
  virtual void run(int rank, const CheckedCall& call, const CallOptions& options) = 0;

  /// Of values by rank, of which this process has those of its ranks, makes all. Where all ranks
  /// are of this process: nothing to do. Called on no rank's thread.
  void gather(std::vector<std::vector<double>>& by_rank);  ///< as many of each
  void gather(std::vector<std::uint64_t>& by_rank);

  /// Contributions, other ones at every second call, so that what a call left behind cannot pass
  /// for the result of the next.
  [[nodiscard]] const CheckedData& checked_data(ElementType type, ReduceOp op);

 protected:
  /// For calls of `what`; its placement is ignored.
  Stage(std::shared_ptr<Team> team, const Request& what, std::optional<Seconds> timeout,
        StageMode mode = {});
  /// Before the memory goes: an error may have left calls under way, for whose end the ranks wait.
  void dismiss_team() { team_.reset(); }

 private:
  std::shared_ptr<Team> team_;
  Request what_;
  std::optional<Seconds> timeout_;
  StageMode mode_;
  std::map<std::tuple<ElementType, ReduceOp, bool>, CheckedData> checked_data_;
  bool odd_check_ = false;
};

/// Bytes of a rank's memory: inputs out of place; outputs, which in place hold both.
struct RankBytes {
  std::size_t input = 0, output = 0;
};

/// For calls of `what` of up to `bytes` bytes (volume.hpp), in the placements that are measured.
/// `more`: bytes that each buffer is longer, where there is one.
[[nodiscard]] RankBytes rank_bytes(const Request& what, int rank, std::size_t bytes,
                                   const BenchRequest& request, std::size_t more = 0);

}  // namespace ringside::bench
