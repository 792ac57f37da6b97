// SPDX-License-Identifier: MIT
/// What the kernel was started with, and what it and the driver say of themselves.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/host_facts.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_parameters = 200;

/// Whether the line above is a command that has this in it.
bool follows_command(const Text& text, std::size_t at, std::string_view command) {
  return at > 0 && text.lines[at - 1].text.find(command) != std::string::npos;
}

/// The parameters: those behind a boot loader's BOOT_IMAGE, the kernel's own message, or the
/// output of `cat /proc/cmdline`.
std::string_view parameters_in(const Text& text, std::size_t at) {
  const std::string_view line = text.lines[at].text;
  const auto image = line.find("BOOT_IMAGE=");
  if (image != std::string_view::npos) return line.substr(image);
  if (const auto message = behind(line, "Kernel command line: ")) return *message;
  if (follows_command(text, at, "/proc/cmdline") && line.find('=') != std::string_view::npos)
    return line;
  return {};
}

void add(std::vector<HostFact>& facts, HostFactKind kind, std::string_view key,
         std::string_view value, int line) {
  facts.push_back({kind, std::string(key), std::string(value), line});
}

/// Errors that say what is wrong.
void read_complaint(std::string_view line, int number, std::vector<HostFact>& facts) {
  if (line.find("mapping of buffer object failed") != std::string_view::npos)
    add(facts, HostFactKind::complaint, "mapping", trim(line), number);
  if (line.find("AER: ") != std::string_view::npos && line.find("rror") != std::string_view::npos)
    add(facts, HostFactKind::complaint, "link", trim(line), number);
  if (line.find("system not yet initialized") != std::string_view::npos ||
      line.find("CUDA_ERROR_SYSTEM_NOT_READY") != std::string_view::npos)
    add(facts, HostFactKind::complaint, "fabric", trim(line), number);
  if (const auto xid = behind(line, "NVRM: Xid "))
    add(facts, HostFactKind::complaint, "xid", *xid, number);
}

/// "|    0   N/A  N/A    4242    C   /usr/bin/python   1234MiB |" of nvidia-smi's table.
void read_process(std::string_view line, int number, std::vector<HostFact>& facts) {
  if (!line.starts_with('|') || line.find("MiB |") == std::string_view::npos) return;
  const auto words = split_blanks(line);
  const auto type = std::ranges::find_if(
      words, [](std::string_view word) { return word == "C" || word == "C+G" || word == "G"; });
  if (type == words.end() || type - words.begin() < 3 || words.end() - type < 4) return;
  const auto memory = words[words.size() - 2];
  if (!parse_int(words[1], 0, 1023) || !parse_int(*(type - 1), 1, 1 << 30)) return;
  add(facts, HostFactKind::process, words[1],
      fmt::format("{} {} {}", *(type - 1), memory.substr(0, memory.find('M')), *(type + 1)),
      number);
}

/// "dmar0  dmar1", "ivhd0": names of units below /sys/class/iommu.
bool lists_iommus(std::string_view line) {
  const auto words = split_blanks(line);
  return !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
    return word.starts_with("dmar") || word.starts_with("ivhd");
  });
}

}  // namespace

void read_kernel_parameters(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  const auto words = split_blanks(parameters_in(text, at));
  for (const auto word : std::span(words).first(std::min(words.size(), most_parameters))) {
    const auto equals = word.find('=');
    const auto value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    add(facts, HostFactKind::kernel_parameter, word.substr(0, equals), value,
        text.lines[at].number);
  }
}

void read_kernel_messages(const Text& text, std::size_t at, std::vector<HostFact>& facts) {
  const std::string_view line = text.lines[at].text;
  const int number = text.lines[at].number;
  if (const auto domain = behind(line, "iommu: Default domain type: "))
    add(facts, HostFactKind::iommu, "domain", to_lower(domain->substr(0, domain->find(' '))),
        number);
  if (behind(line, "DMAR: IOMMU enabled") || lists_iommus(line))
    add(facts, HostFactKind::iommu, "state", "on", number);
  if (const auto hypervisor = behind(line, "Hypervisor detected: "))
    add(facts, HostFactKind::hypervisor, "flag", *hypervisor, number);
  if (const auto power = behind(line, "LnkCtl:"); power && power->starts_with("ASPM "))
    add(facts, HostFactKind::power, "aspm", power->substr(5, power->find_first_of(";,") - 5),
        number);
  read_complaint(line, number, facts);
  read_process(line, number, facts);
  const bool is_of_cuda = line.find("CUDA Driver Version") != std::string_view::npos;
  if (const auto driver = behind(line, "Driver Version"); driver && !is_of_cuda) {
    const auto words = split_blanks(*driver);
    for (const auto word : std::span(words).first(std::min<std::size_t>(words.size(), 2)))
      if (word.front() >= '1' && word.front() <= '9')
        return add(facts, HostFactKind::driver, "version", word, number);
    if (!words.empty() && words.front().front() == ':' && words.front().size() > 1)
      add(facts, HostFactKind::driver, "version", words.front().substr(1), number);
  }
}

}  // namespace ringside
