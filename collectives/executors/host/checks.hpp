// SPDX-License-Identifier: MIT
/// Checksums of a program's data, from a rank's input to another's output.
///
/// Who makes a value (custody.hpp) leaves its sum in a table behind its scratch slots, where those
/// who meet the value find it: the same progress that says that the bytes are there says that their
/// sum is. A fold compares all that it reads before it folds; a copy to memory of its own compares
/// what has landed, and one to a peer's what it is about to send; at the end a rank compares its
/// whole output.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringside/collectives/binding.hpp"
#include "ringside/collectives/executors/custody.hpp"
#include "ringside/collectives/executors/host/program.hpp"

namespace ringside::host {

/// What of a program is summed and compared.
struct Checks {
  /// A run of the program.
  struct Checked {
    std::uint32_t first_sum = 0;  ///< in `sums`: of the sources, then of what is stored
    std::int32_t offset = 0;      ///< which of the op's chunks it is
    Part part = Part::fold;
  };
  /// A slice of a chunk of the rank's input or output.
  struct Chunk {
    Location location;
    Address at, sum;
    std::size_t bytes = 0;
  };
  std::vector<Checked> runs;  ///< by run of the program
  std::vector<Address> sums;
  std::vector<Chunk> inputs, outputs;
  std::size_t element_bytes = 1;

  /// Of what is allocated for it.
  [[nodiscard]] std::size_t bytes() const;
};

/// Makes them along with a program.
class CheckBinder {
 public:
  /// All but `values` outlive it.
  CheckBinder(const Plan& plan, const Schedule& schedule, const Binding& binding,
              const FoldShape& values, int rank);

  /// Of the next run of the program: the `offset`-th chunk of an op, a slice of it.
  void add_run(std::size_t op, int offset, int slice);
  /// To be called once.
  [[nodiscard]] Checks finish();
  /// What a rank needs, with the table of sums.
  [[nodiscard]] std::size_t scratch_bytes(int rank) const;

 private:
  [[nodiscard]] Address sum_of(const Value& value, int slice) const;
  [[nodiscard]] std::size_t table_of(int rank) const;
  void add_chunks(Buffer buffer, std::vector<Checks::Chunk>& chunks) const;

  const Plan& plan_;
  const Binding& binding_;
  Custody custody_;
  int rank_;
  std::size_t slices_;
  Checks checks_;
};

/// Sums and compares for a rank in a call. `bases`: as for the program's addresses; memory of a
/// peer is touched only where an op of this rank folds it. All throw Error(corrupted).
class Checker {
 public:
  Checker(const Program& program, int rank, std::byte* const* bases, std::uint64_t call)
      : program_(program), checks_(*program.checks), rank_(rank), bases_(bases), call_(call) {}

  /// Before anybody reads the rank's input.
  void sum_inputs() const;
  /// Around a step of the rank.
  void before(const Step& step) const;
  void after(const Step& step) const;
  /// When nobody writes the rank's output any more.
  void compare_outputs() const;

  /// Where the sum of what a step stores in its how-manieth run stands, or is to stand.
  [[nodiscard]] std::byte* sum_of_result(const Step& step, std::uint32_t run) const;

 private:
  [[nodiscard]] std::byte* place(const Address& address) const {
    return bases_[address.base] + address.offset;
  }
  [[nodiscard]] Part part_of(const Step& step) const { return checks_.runs[step.first_run].part; }
  void compare(const Address& at, std::size_t bytes, const Address& sum, std::size_t op,
               const Location& location) const;

  const Program& program_;
  const Checks& checks_;
  int rank_;
  std::byte* const* bases_;
  std::uint64_t call_;
};

/// For tests alone, which spoil data on their way: called, if it is set, with what a step of a
/// rank's has stored in its memory, before that is looked at again, and at the end (`op` is the
/// plan's size) with the chunks of its output. Only calls with checksums ask for it.
using Tampering = void (*)(int rank, std::size_t op, std::byte* data, std::size_t bytes);
std::atomic<Tampering>& tampering();

}  // namespace ringside::host
