// SPDX-License-Identifier: MIT
/// Small messages: they travel in the entries, and every rank works out its own output from all
/// ranks' inputs. The call is over with enter: no ops, and nobody waits to leave.
///
/// That is the collective's definition, every output block the fold of its contributors in rank
/// order, rounded once. It stands in for a plan only where the plan's proof says that this is what
/// the plan computes, so the bits are the plan's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/executors/chosen_plans.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::host {

/// The longest input, in bytes, that is small for so many ranks on so many cores: by the option
/// `inline`.
[[nodiscard]] std::size_t longest_small_message(int ranks, int cores);

class SmallMessage {
 public:
  /// An output block, and where its contributions lie in their ranks' inputs, in bytes.
  struct Block {
    std::size_t offset = 0;  ///< in the output
    std::size_t elements = 0;
    std::size_t first_part = 0, parts = 0;
  };
  struct Part {
    int rank = 0;
    std::size_t offset = 0;
  };

  /// Nothing if an input is longer than `most` bytes or the proof does not allow it; all ranks come
  /// to the same answer.
  /// Of `values` only type, operator, scalar and ranks are looked at.
  [[nodiscard]] static std::optional<SmallMessage> make(const Request& request,
                                                        const ProofFacts& facts, int rank,
                                                        std::span<const std::size_t> blocks,
                                                        FoldShape values, std::size_t most);

  /// The same for a call with these plans: nothing unless the proof of each of them allows it.
  [[nodiscard]] static std::optional<SmallMessage> make(const ChosenPlans& plans, int rank,
                                                        std::span<const std::size_t> blocks,
                                                        const FoldShape& values, std::size_t most);

  [[nodiscard]] std::size_t input_bytes() const { return input_bytes_; }
  /// Over all ranks.
  [[nodiscard]] std::size_t longest_input_bytes() const { return longest_input_bytes_; }
  /// Folds the parts of any block.
  [[nodiscard]] const FoldKernel& kernel() const { return kernel_; }
  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const {
    return blocks_.capacity() * sizeof(Block) + parts_.capacity() * sizeof(Part);
  }
  [[nodiscard]] std::span<const Block> blocks() const { return blocks_; }
  [[nodiscard]] std::span<const Part> parts(const Block& block) const {
    return std::span(parts_).subspan(block.first_part, block.parts);
  }

  /// Works out the output; `input_of(rank)`: where a rank's input lies. `sources`: room for as many
  /// addresses as there are ranks.
  template <class InputOf>
  void fold(const std::byte** sources, std::byte* output, InputOf input_of) const {
    for (const Block& block : blocks_) {
      const std::byte** source = sources;
      for (const Part& part : parts(block)) *source++ = input_of(part.rank) + part.offset;
      std::byte* const destination = output + block.offset;
      kernel_(sources, &destination, block.elements);
    }
  }

 private:
  std::size_t input_bytes_ = 0, longest_input_bytes_ = 0;
  FoldKernel kernel_;
  std::vector<Block> blocks_;  // without the empty ones
  std::vector<Part> parts_;
};

}  // namespace ringside::host
