// SPDX-License-Identifier: MIT
/// What the kernel was started with, and what it and the driver say of themselves.
#include <algorithm>

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
  if (const auto driver = behind(line, "Driver Version")) {
    const auto words = split_blanks(*driver);
    for (const auto word : std::span(words).first(std::min<std::size_t>(words.size(), 2)))
      if (word.front() >= '1' && word.front() <= '9')
        return add(facts, HostFactKind::driver, "version", word, number);
    if (!words.empty() && words.front().front() == ':' && words.front().size() > 1)
      add(facts, HostFactKind::driver, "version", words.front().substr(1), number);
  }
}

}  // namespace ringside
