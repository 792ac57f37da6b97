// SPDX-License-Identifier: MIT
/// What a rank keeps of a call in order to make it again: everything that does not depend on the
/// contents and addresses of the buffers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/executors/host/small_message.hpp"
#include "ringside/collectives/plan_cache.hpp"

namespace ringside::host {

struct Prepared {
  Signature signature;
  std::uint64_t digest = 0;  ///< of it
  std::optional<SmallMessage> small;
  /// By placement (out of place, in place): both where the ranks may differ in it, none for barrier
  /// and small messages.
  std::array<std::unique_ptr<const Program>, 2> programs;
  std::size_t scratch_bytes = 0;  ///< of the longest program

  [[nodiscard]] const Program& program(Placement placement) const {
    return *programs[placement == Placement::out_of_place ? 0 : 1];
  }
};

/// How calls are prepared, the same for all ranks of a communicator.
struct Preparation {
  int rank = 0;
  int ranks = 1;
  std::size_t most_inline = 0;  ///< the longest message, in bytes, that travels in an entry
  /// The spec string, `auto` resolved, of a request on so many bytes.
  std::function<std::string(const Request&, std::size_t bytes)> spec_for;
};

/// Makes it. Throws what PlanCache::get throws; Error(unsupported) if premul_sum cannot run the
/// plan.
[[nodiscard]] Prepared prepare(const Call& call, const Preparation& how, PlanCache& plans);

/// The calls prepared by one rank, found by their arguments. Forgets all of them when they take
/// more memory than they should.
class PreparedCalls {
 public:
  /// `ranks`: of the communicator; they share what memory may be taken.
  explicit PreparedCalls(int ranks);

  /// The prepared form of such a call, made by `make` the first time. `asked` is the spec string
  /// that the call names, if it names one. The reference stays valid until the next call of this.
  template <class Make>
  const Prepared& get(const Call& call, std::string_view asked, Make&& make) {
    Entry*& recent = recent_[hash_of(call) % recent_.size()];
    if (recent == nullptr || !recent->matches(call, asked)) {
      recent = find(call, asked);
      if (recent == nullptr) recent = add(call, asked, make());
    }
    return recent->prepared;
  }

 private:
  struct Entry {
    std::uint64_t kind;
    std::uint64_t scalar;
    std::size_t first_length;  // of blocks: mostly there is no other
    std::vector<std::size_t> blocks;
    std::string asked;
    Prepared prepared;

    [[nodiscard]] bool matches(const Call& call, std::string_view spec) const {
      return kind == kind_of(call) && scalar == scalar_of(call) &&
             first_length == first_length_of(call) && blocks.size() == call.blocks.size() &&
             asked.size() == spec.size() && (spec.empty() || asked == spec) &&
             (blocks.size() <= 1 ||
              std::equal(blocks.begin(), blocks.end(), call.blocks.begin(), call.blocks.end()));
    }
  };

  /// All that a call says in small numbers.
  [[nodiscard]] static std::uint64_t kind_of(const Call& call) {
    return static_cast<std::uint64_t>(call.root) << 32 |
           static_cast<std::uint64_t>(call.collective) << 24 |
           static_cast<std::uint64_t>(call.type) << 16 | static_cast<std::uint64_t>(call.op) << 8 |
           static_cast<std::uint64_t>(call.placement);
  }
  /// The bits of the scalar where there is one.
  [[nodiscard]] static std::uint64_t scalar_of(const Call& call) {
    return call.op == ReduceOp::premul_sum ? std::bit_cast<std::uint64_t>(call.options->scalar) : 0;
  }
  [[nodiscard]] static std::size_t first_length_of(const Call& call) {
    return call.blocks.empty() ? 0 : call.blocks.front();
  }
  /// Of what mostly tells calls apart: quick.
  [[nodiscard]] static std::size_t hash_of(const Call& call) {
    return ((kind_of(call) * 31 + first_length_of(call)) * 0x9e3779b97f4a7c15ULL) >> 32;
  }
  /// Of everything: lists that change from call to call often begin alike, and so do calls whose
  /// scalar or algorithm changes.
  [[nodiscard]] static std::size_t full_hash_of(const Call& call, std::string_view asked);

  Entry* find(const Call& call, std::string_view asked);
  Entry* add(const Call& call, std::string_view asked, Prepared prepared);

  std::array<Entry*, 64> recent_ = {};                                    // by hash
  std::unordered_multimap<std::size_t, std::unique_ptr<Entry>> entries_;  // by full hash
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
};

}  // namespace ringside::host
