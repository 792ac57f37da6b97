// SPDX-License-Identifier: MIT
#include "ringside/bench/competitors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/baselines/baseline_subject.hpp"
#include "ringside/bench/peer_subject.hpp"

namespace ringside::bench {
namespace {

constexpr std::string_view everything = "all";
constexpr std::string_view nccl = "nccl";  // beside GPUs (platform.hpp)

/// Something is not installed, as opposed to broken.
bool is_absent(const Error& error) {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::io;
}

}  // namespace

std::vector<std::string> competitor_names() {
  std::vector<std::string> names;
  for (const auto& kind : peer_kinds()) names.emplace_back(kind.name);
  names.emplace_back(nccl);
  names.emplace_back(everything);
  for (const auto name : baseline_names()) names.emplace_back(name);
  return names;
}

std::vector<std::string> parse_competitors(std::string_view text) {
  const auto known = competitor_names();
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const auto word : split(text, ',')) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw Error(
          ErrorCode::bad_input,
          fmt::format(
              "--compare: expected some of {}, got {}{}", fmt::join(known, ", "), quote(word),
              did_you_mean(word, std::vector<std::string_view>(known.begin(), known.end()))));
    if (word != everything) {
      add(word);
      continue;
    }
    for (const auto& kind : peer_kinds()) add(kind.name);
  }
  return names;
}

void check_competitors(const BenchRequest& request) {
  for (const auto& name : request.compare)
    if (name == nccl) throw Error(ErrorCode::bad_input, "--compare nccl: needs --backend cuda");
  for (const auto& name : request.compare)
    if (const auto* kind = find_peer_kind(name); kind != nullptr && !request.compare_what_is_here)
      (void)find_peer_program(*kind, request.peer_folder);
}

std::uint64_t competitor_buffers(const BenchRequest& request, std::uint64_t buffers) {
  const auto libraries =
      std::count_if(request.compare.begin(), request.compare.end(),
                    [](const std::string& name) { return find_peer_kind(name) != nullptr; });
  return static_cast<std::uint64_t>(libraries) * (buffers + 1);
}

std::vector<std::unique_ptr<Subject>> make_competitors(const BenchRequest& request,
                                                       HostStage& stage,
                                                       std::vector<Skipped>& skipped) {
  const int ranks = stage.team().size();
  const auto collective = stage.request(Placement::out_of_place).collective;
  const auto cores = allowed_cpus();
  const PeerSetup setup{.ranks = ranks,
                        .cores = request.pin ? cores : std::vector<int>(),
                        .limit = request.timeout.value_or(option<Seconds>("timeout")),
                        .buffers = request.buffers,
                        .folder = request.peer_folder};
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const auto& name : request.compare) {
    const PeerKind* kind = find_peer_kind(name);
    if (kind == nullptr) {
      subjects.push_back(make_baseline(name, stage, request.buffers));
      continue;
    }
    if (kind->needs_cores && static_cast<std::size_t>(ranks) > cores.size()) {
      skipped.push_back({name, ranks,
                         fmt::format("it polls without yielding: more ranks than the {} cores take "
                                     "milliseconds a call",
                                     cores.size()),
                         collective});
      continue;
    }
    try {
      subjects.push_back(std::make_unique<PeerSubject>(*kind, setup));
    } catch (const Error& error) {
      if (!request.compare_what_is_here || !is_absent(error)) throw;
      skipped.push_back({name, ranks, error.what(), collective});
    }
  }
  return subjects;
}

}  // namespace ringside::bench
