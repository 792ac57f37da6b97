// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/gpu/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside::mpi {
namespace {

constexpr std::size_t words = 32;
constexpr std::size_t bytes = words * sizeof(std::uint64_t);
using Pattern = std::array<std::uint64_t, words>;

/// Words that no other pair of ranks, and no other direction, has.
Pattern pattern_of(int from, int to) {
  Pattern pattern{};
  std::uint64_t word = 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(from * 512 + to + 1);
  for (auto& entry : pattern) {
    word ^= word << 13, word ^= word >> 7, word ^= word << 17;
    entry = word;
  }
  return pattern;
}

/// What each process tells of its end of the trial.
struct Told {
  std::array<char, 256> why = {};  ///< it cannot take part
  ErrorCode code = ErrorCode::device;
  bool has = false;
  Gpu::Handle handle = {};
};

struct Row {
  std::array<char, 256> why = {};
  ErrorCode code = ErrorCode::device;
  std::array<Access, max_proven_ranks> access = {};
};

template <class Row>
void store_words(Row& row, const Error& error) {
  const std::string text = error.what();
  std::copy_n(text.begin(), std::min(text.size(), row.why.size() - 1), row.why.begin());
}

template <class Rows>
void throw_first(const Rows& rows) {
  for (const auto& row : rows)
    if (row.why.front() != '\0') throw Error(row.code, row.why.data());
}

/// Memory for the trial: a pattern for each rank to read, then one that each has written.
class Trial {
 public:
  Trial(Gpu& gpu, int ranks, int rank)
      : gpu_(gpu), ranks_(ranks), rank_(rank), memory_(gpu.allocate(2 * own_bytes() + bytes)) {
    for (int peer = 0; peer < ranks; ++peer) write(memory_ + at(peer), pattern_of(rank, peer));
  }
  ~Trial() { gpu_.release(memory_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] Gpu::Handle handle() { return gpu_.handle_of(memory_); }

  /// What this rank can do with a peer's, as far as it shows here.
  [[nodiscard]] Access tried(const Gpu::Handle& handle, int peer) {
    std::byte* const theirs = gpu_.open(handle);
    if (theirs == nullptr) return Access::none;
    const auto closed = [&](Access access) {
      gpu_.close(theirs);
      return access;
    };
    std::byte* const near = memory_ + 2 * own_bytes();
    const Pattern mine = pattern_of(rank_, peer);
    gpu_.copy_by_kernel(near, theirs + at(rank_), bytes);
    const bool by_kernel = read(near) == pattern_of(peer, rank_);
    gpu_.copy(near, theirs + at(rank_), bytes);
    if (read(near) != pattern_of(peer, rank_)) return closed(Access::none);
    write(near, mine);
    if (by_kernel)
      gpu_.copy_by_kernel(theirs + own_bytes() + at(rank_), near, bytes);
    else
      gpu_.copy(theirs + own_bytes() + at(rank_), near, bytes);
    return closed(by_kernel ? Access::direct : Access::copy_only);
  }
  /// Whether what a peer has written has come.
  [[nodiscard]] bool has_come(int peer) {
    return read(memory_ + own_bytes() + at(peer)) == pattern_of(peer, rank_);
  }

 private:
  [[nodiscard]] std::size_t own_bytes() const { return static_cast<std::size_t>(ranks_) * bytes; }
  [[nodiscard]] static std::size_t at(int peer) { return static_cast<std::size_t>(peer) * bytes; }
  void write(std::byte* to, const Pattern& pattern) {
    gpu_.copy(to, reinterpret_cast<const std::byte*>(pattern.data()), bytes);
  }
  [[nodiscard]] Pattern read(const std::byte* from) {
    Pattern pattern{};
    gpu_.copy(reinterpret_cast<std::byte*>(pattern.data()), from, bytes);
    return pattern;
  }

  Gpu& gpu_;
  int ranks_, rank_;
  std::byte* memory_;
};

/// By the option `cuda_p2p`.
Access allowed_access(Access found) {
  const auto word = option<std::string>("cuda_p2p");
  if (word == "none") return Access::none;
  return word == "copy" && found == Access::direct ? Access::copy_only : found;
}

}  // namespace

Gpus::Gpus(Team& team, std::optional<int> device) : team_(team) {
  Told mine;
  mine.has = device.has_value();
  std::unique_ptr<Trial> trial;
  try {
    if (device) {
      gpu_ = make_gpu(*device);
      gpu_->use();
      exports_ = std::make_shared<Exports>(team, gpu_);
      trial = std::make_unique<Trial>(*gpu_, team.size(), team.rank());
      mine.handle = trial->handle();
    }
  } catch (const Error& error) {
    mine.code = error.code();
    store_words(mine, error);
  }
  const auto all = gathered(team.transport(), mine);
  throw_first(all);
  for (const Told& told : all) has_.push_back(told.has);
  if (std::none_of(has_.begin(), has_.end(), [](bool has) { return has; })) return;

  Row row;
  row.access.fill(Access::none);
  const auto on_near_gpus = [&](auto&& use) {
    for (int peer = 0; gpu_ && peer < team.size(); ++peer)
      if (peer != team.rank() && team.is_near(peer) && has_[static_cast<std::size_t>(peer)])
        use(peer, row.access[static_cast<std::size_t>(peer)]);
  };
  try {
    on_near_gpus([&](int peer, Access& access) {
      access = trial->tried(all[static_cast<std::size_t>(peer)].handle, peer);
    });
  } catch (const Error& error) {
    store_words(row, error);
  }
  auto rows = gathered(team.transport(), row);
  throw_first(rows);
  // A row tells what a rank could read; whether what it wrote has come, the others see.
  Row came;
  came.access.fill(Access::none);
  on_near_gpus([&](int peer, Access&) {
    if (trial->has_come(peer)) came.access[static_cast<std::size_t>(peer)] = Access::direct;
  });
  for (Access& access : row.access) access = allowed_access(access);
  const auto all_came = gathered(team.transport(), came);
  rows = gathered(team.transport(), row);  // also: nobody has the others' trial open any more
  access_ = full_access(team.size());
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < rows.size(); ++b)
      if (a != b)
        access_[a][b] = all_came[b].access[a] == Access::direct ? rows[a].access[b] : Access::none;
}

bool Gpus::all_have(const std::vector<int>& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](int rank) { return has_[static_cast<std::size_t>(rank)]; });
}

AccessMatrix Gpus::access_among(const std::vector<int>& ranks) const {
  AccessMatrix part;
  for (const int from : ranks) {
    auto& row = part.emplace_back();
    for (const int to : ranks)
      row.push_back(team_.host_of(from) == team_.host_of(to)
                        ? access_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]
                        : Access::message);
  }
  return part;
}

std::string Gpus::unreached(const std::vector<int>& ranks) const {
  const auto access = access_among(ranks);
  std::string pairs;
  for (std::size_t a = 0; a < access.size(); ++a)
    for (std::size_t b = a + 1; b < access.size(); ++b)
      if (access[a][b] == Access::none || access[b][a] == Access::none)
        pairs += fmt::format("{}{} and {}", pairs.empty() ? "" : ", ", a, b);
  if (pairs.empty()) return {};
  return fmt::format(
      "GPUs of ranks {} do not reach each other's memory: what goes between them goes through the "
      "host",
      pairs);
}

}  // namespace ringside::mpi
