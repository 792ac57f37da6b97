// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/live_evidence.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>

#include "ringside/base/error.hpp"
#include "ringside/topology/build/annotate.hpp"
#include "ringside/topology/build/measured.hpp"
#include "ringside/topology/load.hpp"

namespace ringside {
namespace {

namespace fs = std::filesystem;

/// A file's first lines behind the command that would print them; "" where it cannot be read.
std::string printed(const std::string& file, std::size_t most_lines) {
  std::ifstream stream(file);
  std::string text, line;
  for (std::size_t i = 0; i < most_lines && std::getline(stream, line); ++i) text += line + "\n";
  return text.empty() ? text : fmt::format("$ cat {}\n{}", file, text);
}

/// As `df /dev/shm` prints it.
std::string shared_memory(const std::string& folder) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return "";
  const auto kib = [&](auto blocks) {
    return static_cast<unsigned long long>(blocks) * space.f_frsize / 1024;
  };
  return fmt::format(
      "Filesystem 1K-blocks Used Available Use% Mounted on\n"
      "shm {} {} {} {}% /dev/shm\n",
      kib(space.f_blocks), kib(space.f_blocks - space.f_bfree), kib(space.f_bavail),
      100 * (space.f_blocks - space.f_bfree) / space.f_blocks);
}

std::string names_in(const std::string& folder) {
  std::error_code error;
  std::string names;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names += entry.path().filename().string() + " ";
  return names.empty() ? names : names + "\n";
}

std::vector<EvidenceText> host_texts(const std::string& root) {
  constexpr std::size_t first_processor = 40;  // lines of /proc/cpuinfo; all are alike
  std::vector<EvidenceText> texts;
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) texts.push_back({name, std::move(text)});
  };
  add("/proc/cmdline", printed(root + "/proc/cmdline", 1));
  add("/proc/cpuinfo", printed(root + "/proc/cpuinfo", first_processor));
  add("/sys/class/iommu", names_in(root + "/sys/class/iommu"));
  if (root.empty()) {  // of this process: another machine's files tell nothing of it
    add("/proc/self/limits", printed("/proc/self/limits", 100));
    add("/proc/self/status", printed("/proc/self/status", 100));
    add("/dev/shm", shared_memory("/dev/shm"));
  }
  return texts;
}

}  // namespace

Evidence live_evidence(const LiveSources& sources, std::span<const std::string> inputs) {
  auto texts = host_texts(sources.root);
  for (const auto& input : inputs) texts.push_back({source_name(input), text_of_input(input)});
  BuiltTopology machine = read_live(sources);
  if (texts.empty()) {
    auto evidence = evidence_of(std::move(machine));
    evidence.live = true;
    return evidence;
  }
  auto evidence = read_evidence(texts);
  const auto gpus = machine.topology.gpus().size();
  if (evidence.built && evidence.built->topology.gpus().size() != gpus)
    throw Error(ErrorCode::bad_input,
                fmt::format("the inputs are of another machine: they have {} GPUs, this one {}",
                            evidence.built->topology.gpus().size(), gpus));
  for (const auto& matrix : evidence.all<PeerMatrix>())
    add_peer_access(*matrix.facts, machine.topology);
  evidence.measured = measurements_of(evidence.readings, &machine.topology, machine.findings);
  evidence.built = std::move(machine);
  evidence.live = true;
  return evidence;
}

}  // namespace ringside
