// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/nccl_log.hpp"

#include <algorithm>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr int most_ranks = 1 << 20;
constexpr std::size_t most_kept = 10'000;  ///< rings, masks, warnings: more tell nothing new

std::optional<int> rank_in(std::string_view text) {
  const auto number = parse_int(text, 0, most_ranks);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

class LogReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (std::size_t i = 0; i < text.lines.size(); ++i) look_at(text.lines[i]);
    std::vector<Reading> readings;
    if (first_line_ == 0) return readings;
    finish();
    readings.push_back(Reading{.reader = "NCCL INFO log",
                               .source = {},
                               .first_line = first_line_,
                               .last_line = last_line_,
                               .facts = std::move(log_),
                               .findings = std::move(findings_)});
    return readings;
  }

 private:
  void look_at(const TextLine& line) {
    const std::string_view text = line.text;
    if (const auto version = behind(text, "NCCL version "); version && log_.version.empty())
      log_.version = version->substr(0, version->find(' '));
    const auto info = behind(text, "NCCL INFO "), warning = behind(text, "NCCL WARN ");
    if (!info && !warning) return;
    if (first_line_ == 0) first_line_ = line.number;
    last_line_ = line.number;
    note_process(text);
    if (text.find("NET/IB : No device found") != std::string_view::npos ||
        text.find("Failed to open libibverbs") != std::string_view::npos)
      log_.no_infiniband = true;
    if (warning) {
      if (log_.warnings.size() < most_kept) log_.warnings.emplace_back(*warning);
      return;
    }
    read_channel(*info, line.number);
    read_trees(*info);
    read_affinity(*info);
    read_environment(*info);
    if (const auto network = behind(*info, "Using network "))
      log_.network = network->substr(0, network->find(' '));
    if (const auto words = behind(*info, "nranks ")) note_ranks(words->substr(0, words->find(' ')));
    if (const auto words = behind(*info, "nNodes "))
      if (const auto boxes = rank_in(words->substr(0, words->find_first_of(" ,"))))
        log_.boxes = std::max(log_.boxes.value_or(0), *boxes);
  }

  /// "host:pid:tid [3] NCCL ...": a process has a host and number, and its GPU's index within it.
  void note_process(std::string_view line) {
    const auto bracket = line.find('[');
    const auto end = line.find(']', bracket);
    if (bracket == std::string_view::npos || end == std::string_view::npos) return;
    const auto gpu = rank_in(line.substr(bracket + 1, end - bracket - 1));
    if (!gpu || line.find("NCCL") < bracket) return;
    const auto words = split_blanks(line.substr(0, bracket));
    const auto host =
        words.empty() ? std::string_view() : words.back().substr(0, words.back().find(':'));
    if (processes_.size() < most_kept) processes_.emplace(host, *gpu);
    highest_gpu_ = std::max(highest_gpu_, *gpu);
  }

  /// "Channel 00/02 :    0   1   2   3" is a ring; "Channel 00 : 3[b1000] -> 4[18000] via ..." a
  /// connection.
  void read_channel(std::string_view info, int line) {
    const auto rest = behind(info, "Channel ");
    if (!rest || !info.starts_with("Channel ")) return;
    if (const auto via = behind(*rest, " via ")) {
      const std::string transport(via->substr(0, via->find_first_of(" \t")));
      ++log_.transport_lines[transport];
      const auto arrow = rest->find("->");
      const auto from = note_end(rest->substr(0, arrow));
      if (arrow == std::string_view::npos) return;
      const auto to = note_end(rest->substr(arrow + 2));
      auto& ends = log_.connections[transport];
      if (from && to && ends.size() < most_kept) ends.emplace(*from, *to);
      return;
    }
    const auto colon = rest->find(':'), slash = rest->find('/');
    if (colon == std::string_view::npos || slash == std::string_view::npos || slash > colon) return;
    const auto channel = rank_in(trim(rest->substr(0, slash)));
    const auto count = rank_in(trim(rest->substr(slash + 1, colon - slash - 1)));
    if (!channel || !count) return;
    log_.channels = std::max(log_.channels.value_or(0), *count);
    std::vector<int> ring;
    for (const auto word : split_blanks(rest->substr(colon + 1))) {
      const auto rank = rank_in(word);
      if (!rank) return;
      ring.push_back(*rank);
    }
    if (!ring.empty() && ring_lines_.size() < most_kept)
      ring_lines_.push_back({*channel, line, ring});
  }

  /// The rank in "Channel 00/0 : 1[2]" or " 2[3] [send]".
  std::optional<int> note_end(std::string_view text) {
    constexpr int most_devices = 255;  // a bus is "1000" or more
    const auto bracket = text.find('[');
    if (bracket == std::string_view::npos) return std::nullopt;
    const auto words = split_blanks(text.substr(0, bracket));
    if (words.empty()) return std::nullopt;
    note_ranks_above(words.back());
    const auto rank = rank_in(words.back());
    const auto inside = text.substr(bracket + 1, text.find(']') - bracket - 1);
    if (const auto device = parse_int(inside, 0, most_devices); rank && device)
      log_.devices.emplace(*rank, static_cast<int>(*device));
    return rank;
  }

  /// "Trees [0] 2/4/-1->1->0 [1] ...": children, rank, parent.
  void read_trees(std::string_view info) {
    if (!info.starts_with("Trees ")) return;
    std::string digits;
    for (const char c : info.substr(6)) {
      if (c >= '0' && c <= '9') {
        digits += c;
      } else {
        if (c != ']' && !digits.empty()) note_ranks_above(digits);
        digits.clear();
      }
    }
    note_ranks_above(digits);
  }

  void read_affinity(std::string_view info) {
    const auto rest = behind(info, "Setting affinity for GPU ");
    if (!rest) return;
    const auto words = split_blanks(*rest);
    if (words.size() < 3 || words[1] != "to") return;
    const auto gpu = rank_in(words[0]);
    if (!gpu || log_.affinity_masks.size() > most_kept) return;
    auto& masks = log_.affinity_masks[*gpu];
    if (std::ranges::find(masks, words[2]) == masks.end()) masks.emplace_back(words[2]);
  }

  /// "NCCL_P2P_LEVEL set by environment to LOC", in newer versions with a full stop.
  void read_environment(std::string_view info) {
    const auto value = behind(info, " set by environment to ");
    const bool is_known = info.starts_with("NCCL_") || info.starts_with("CUDA_VISIBLE_DEVICES ");
    if (!value || !is_known) return;
    std::string_view text = *value;
    if (text.ends_with('.')) text.remove_suffix(1);
    log_.environment[std::string(info.substr(0, info.find(' ')))] = text;
  }

  void note_ranks(std::string_view text) {
    if (const auto count = rank_in(text)) stated_ = std::max(stated_.value_or(0), *count);
  }
  void note_ranks_above(std::string_view text) {
    if (const auto rank = rank_in(text)) highest_ = std::max(highest_, *rank);
  }

  void finish() {
    std::size_t longest = 0;
    for (const auto& line : ring_lines_) longest = std::max(longest, line.ranks.size());
    for (const auto& line : ring_lines_) {
      if (line.ranks.size() == longest) {
        log_.rings.emplace(line.channel, line.ranks);
        continue;
      }
      log_.truncated = true;
      findings_.push_back({Severity::warning, line.number, "this ring is cut"});
    }
    for (const auto& [host, gpu] : processes_)
      if (!host.empty() && (log_.hosts.empty() || log_.hosts.back() != host))
        log_.hosts.push_back(host);
    int device = highest_gpu_;
    for (const auto& [rank, own] : log_.devices) device = std::max(device, own);
    if (device >= 0) log_.highest_device = device;
    int ranks = std::max({static_cast<int>(longest), highest_ + 1, stated_.value_or(0)});
    if (ranks == 0) ranks = ranks_of_hosts();
    if (ranks > 0) log_.ranks = ranks;
  }

  /// Hosts of one job have alike numbers of GPUs: as many as the host of which most is seen.
  [[nodiscard]] int ranks_of_hosts() const {
    std::set<std::string> hosts;
    for (const auto& [host, gpu] : processes_) hosts.insert(host);
    return static_cast<int>(hosts.size()) * (highest_gpu_ + 1);
  }

  struct RingLine {
    int channel, number;
    std::vector<int> ranks;
  };

  NcclLog log_;
  std::vector<Finding> findings_;
  std::vector<RingLine> ring_lines_;
  std::set<std::pair<std::string, int>> processes_;
  std::optional<int> stated_;
  int highest_ = -1, highest_gpu_ = -1;
  int first_line_ = 0, last_line_ = 0;
};

}  // namespace

std::vector<Reading> read_nccl_log(const Text& text) { return LogReader().read(text); }

}  // namespace ringside
