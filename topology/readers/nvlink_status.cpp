// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/nvlink_status.hpp"

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_gpus = 1024;

/// "GPU 0: NVIDIA RTX A6000 (UUID: GPU-...)".
std::optional<NvlinkStatus::Gpu> read_gpu(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("GPU ")) return std::nullopt;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = parse_int(trim(line.substr(4, colon - 4)), 0, 100'000);
  if (!number) return std::nullopt;
  NvlinkStatus::Gpu gpu;
  gpu.number = static_cast<int>(*number);
  const auto rest = line.substr(colon + 1);
  gpu.model = trim(rest.substr(0, rest.find('(')));
  return gpu;
}

/// "Link 0: 14.062 GB/s" or "Link 0: <inactive>".
bool read_link(std::string_view line, NvlinkStatus::Gpu& gpu) {
  line = trim(line);
  if (!line.starts_with("Link ")) return false;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !parse_int(trim(line.substr(5, colon - 5)), 0, 1000))
    return false;
  const auto words = split_blanks(line.substr(colon + 1));
  if (words.empty()) return false;
  if (const auto rate = parse_number(words[0]); rate && words.size() > 1 && words[1] == "GB/s")
    return gpu.active.push_back(*rate), true;
  if (words[0].find("nactive") != std::string_view::npos) return ++gpu.inactive, true;
  return false;
}

class StatusReader {
 public:
  std::vector<Reading> read(const Text& text) {
    for (const auto& line : text.lines) look_at(line);
    close();
    return std::move(readings_);
  }

 private:
  void look_at(const TextLine& line) {
    if (auto gpu = read_gpu(line.text)) {
      if (!status_.gpus.empty() && gpu->number <= status_.gpus.back().number) close();
      if (status_.gpus.empty()) first_line_ = line.number;
      if (status_.gpus.size() < most_gpus) status_.gpus.push_back(std::move(*gpu));
      return;
    }
    if (status_.gpus.empty()) return;
    auto& gpu = status_.gpus.back();
    const bool all_inactive = line.text.find("all links are inActive") != std::string::npos;
    if (all_inactive) gpu.all_inactive = true;
    if (!all_inactive && !read_link(line.text, gpu)) return;
    has_links_ = true;
    last_line_ = line.number;
  }

  /// A list of GPUs without links (`nvidia-smi -L`) is no such status.
  void close() {
    if (has_links_)
      readings_.push_back(Reading{.reader = "nvidia-smi nvlink -s",
                                  .source = {},
                                  .first_line = first_line_,
                                  .last_line = last_line_,
                                  .facts = std::move(status_),
                                  .findings = {}});
    status_ = {};
    has_links_ = false;
  }

  NvlinkStatus status_;
  bool has_links_ = false;
  int first_line_ = 0, last_line_ = 0;
  std::vector<Reading> readings_;
};

}  // namespace

std::vector<Reading> read_nvlink_status(const Text& text) { return StatusReader().read(text); }

}  // namespace ringside
