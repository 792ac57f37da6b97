// SPDX-License-Identifier: MIT
#include "ringside/bench/peer_subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {
namespace {

constexpr std::string_view open_mpi_packages = "libopenmpi-dev openmpi-bin";

/// glibc gives large blocks back to the system when they are freed, which made large all-reduces of
/// both MPIs 2 to 4 times slower (measured): they allocate temporaries as large as the message.
const std::vector<std::string> keep_large_blocks = {"MALLOC_MMAP_THRESHOLD_=4294967296",
                                                    "MALLOC_TRIM_THRESHOLD_=8589934592"};

std::string cores_text(const std::vector<int>& cores) {
  return cores.empty() ? "-" : fmt::format("{}", fmt::join(cores, ","));
}

std::vector<std::string> open_mpi_command(const PeerKind& kind, int ranks, bool pinned) {
  std::vector<std::string> words = {RINGSIDE_OPENMPI_LAUNCHER, "--allow-run-as-root",
                                    "--oversubscribe"};
  if (pinned) words.insert(words.end(), {"--bind-to", "none"});  // the ranks pin themselves
  if (kind.tuned_malloc)
    for (const auto& setting : keep_large_blocks) words.insert(words.end(), {"-x", setting});
  if (!kind.single_copy)
    words.insert(words.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
  words.insert(words.end(), {"-np", std::to_string(ranks)});
  return words;
}

std::vector<std::string> mpich_command(const PeerKind& kind, int ranks) {
  std::vector<std::string> words = {RINGSIDE_MPICH_LAUNCHER};
  if (kind.tuned_malloc)
    for (const auto& setting : keep_large_blocks) {
      const auto parts = split(setting, '=');
      words.insert(words.end(), {"-genv", std::string(parts[0]), std::string(parts[1])});
    }
  words.insert(words.end(), {"-np", std::to_string(ranks)});
  return words;
}

PeerCommand command_for(PeerCommand::Verb verb, const Cell& cell, const Block& block) {
  return {.verb = verb,
          .collective = cell.collective,
          .root = cell.root,
          .count = cell.count,
          .type = cell.type,
          .op = cell.op,
          .placement = cell.placement,
          .block = block};
}

}  // namespace

const std::vector<PeerKind>& peer_kinds() {
  using Launcher = PeerKind::Launcher;
  static const std::vector<PeerKind> kinds = {
      {.name = "openmpi",
       .program = "ringside_openmpi_peer",
       .launcher = Launcher::open_mpi,
       .setting = "",
       .packages = open_mpi_packages},
      {.name = "openmpi-tuned",
       .program = "ringside_openmpi_peer",
       .launcher = Launcher::open_mpi,
       .setting = "malloc keeps large blocks",
       .tuned_malloc = true,
       .packages = open_mpi_packages},
      {.name = "openmpi-nocma",
       .program = "ringside_openmpi_peer",
       .launcher = Launcher::open_mpi,
       .setting = "malloc keeps large blocks, no single copy",
       .tuned_malloc = true,
       .single_copy = false,
       .packages = open_mpi_packages},
      {.name = "mpich",
       .program = "ringside_mpich_peer",
       .launcher = Launcher::mpich,
       .setting = "malloc keeps large blocks",
       .tuned_malloc = true,
       .needs_cores = true,
       .packages = "libmpich-dev mpich"},
      {.name = "gloo",
       .program = "ringside_gloo_peer",
       .launcher = Launcher::none,
       .setting = "TCP over loopback",
       .packages = "libgloo-dev"},
  };
  return kinds;
}

const PeerKind* find_peer_kind(std::string_view name) {
  for (const auto& kind : peer_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<std::string> peer_command_line(const PeerKind& kind, const PeerSetup& setup) {
  const std::string program = find_peer_program(kind, setup.folder);
  std::vector<std::string> words;
  switch (kind.launcher) {
    case PeerKind::Launcher::open_mpi:
      words = open_mpi_command(kind, setup.ranks, !setup.cores.empty());
      words.push_back(program);
      break;
    case PeerKind::Launcher::mpich:
      words = mpich_command(kind, setup.ranks);
      words.push_back(program);
      break;
    case PeerKind::Launcher::none:
      words = {program, std::to_string(setup.ranks)};
      break;
  }
  words.push_back(cores_text(setup.cores));
  return words;
}

PeerSubject::PeerSubject(const PeerKind& kind, const PeerSetup& setup)
    : kind_(kind),
      ranks_(setup.ranks),
      buffers_(setup.buffers),
      process_(peer_command_line(kind, setup), setup.limit) {
  constexpr std::string_view greeting = "ready ";
  const auto line = process_.receive();
  if (!line.starts_with(greeting))
    throw Error(ErrorCode::failed,
                fmt::format("{}: expected \"ready\", got {}", kind.program, quote(line)));
  library_ = line.substr(greeting.size());
}

Series PeerSubject::describe() const {
  Series series;
  series.label = kind_.name;
  series.peer = true;
  series.detail = fmt::format("{}, {}{}{}", library_,
                              kind_.launcher == PeerKind::Launcher::none ? "threads" : "processes",
                              kind_.setting.empty() ? "" : ", ", kind_.setting);
  series.ranks = ranks_;
  return series;
}

std::optional<std::string> PeerSubject::refusal(const Cell& cell) const {
  process_.send(to_line(command_for(PeerCommand::Verb::ask, cell, {.buffers = buffers_})));
  const auto answer = process_.receive();
  if (answer == "yes") return std::nullopt;
  if (answer.starts_with("no ")) return answer.substr(3);
  throw Error(ErrorCode::failed,
              fmt::format("{}: expected yes or no, got {}", kind_.program, quote(answer)));
}

BlockTimes PeerSubject::time(const Cell& cell, const Block& block) {
  process_.send(to_line(command_for(PeerCommand::Verb::run, cell, block)));
  return parse_times(process_.receive(), static_cast<std::size_t>(ranks_),
                     static_cast<std::size_t>(block.samples));
}

std::optional<CheckOutcome> PeerSubject::check(const Cell&) { return std::nullopt; }

std::string find_peer_program(const PeerKind& kind, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places = {folder};
  std::error_code ignored;
  if (folder.empty()) {
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    places = {here / "../bench/peers", here / "../libexec/ringside", here / "../../bench/peers"};
  }
  for (const auto& place : places) {
    const auto candidate = place / kind.program;
    if (::access(candidate.c_str(), X_OK) == 0)
      return fs::weakly_canonical(candidate, ignored).string();
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: its program is not beside this one; install {} and build again",
                          kind.name, kind.packages));
}

}  // namespace ringside::bench
