// SPDX-License-Identifier: MIT
/// The tables of nccl-tests and rccl-tests, of all versions since 2019, and of scripts that print
/// payload, busbw and algbw; and the rows of JSON reports, ours and theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct CollectiveTiming {
  double time_us = 0;           ///< 0 where it is not in the table
  double algbw = 0, busbw = 0;  ///< GB/s
  std::string check;            ///< as printed; "" where the column is missing
};

struct CollectiveRow {
  std::uint64_t size = 0;
  std::optional<std::uint64_t> count;
  std::string type, operation;
  std::optional<int> root;
  std::size_t fields = 0;
  std::optional<CollectiveTiming> out_of_place, in_place;  ///< nothing where N/A
};

/// "#  Rank  0 Group  0 Pid  4200 on  host1 device  0 [0x01] NVIDIA A100": a line of the head.
struct ListedRank {
  int rank = 0;
  std::string host;
  std::optional<int> device;  ///< CUDA's number in that process
  std::string model;
};

struct CollectiveRows {
  bool rccl = false;
  bool ours = false;                     ///< of `ringside bench --format json`
  bool payload_table = false;            ///< a script's: payload, busbw, algbw
  std::optional<std::string> algorithm;  ///< of ours: a spec, or another library's name
  std::optional<std::string>
      collective;            ///< "all_reduce", where the text tells or the rows imply it
  std::optional<int> ranks;  ///< the same
  int listed_ranks = 0;
  std::optional<int> nccl_code;      ///< of the library as the head prints it: 22907 is 2.29.7
  std::vector<ListedRank> listed;    ///< those whose lines are whole
  std::optional<int> threads, gpus;  ///< nThread, nGpus
  std::optional<std::uint64_t> min_bytes, max_bytes;
  std::vector<CollectiveRow> rows;  ///< complete ones
  bool has_incomplete_rows = false;
  bool runs_interleaved = false;  ///< sizes go back and forth: two runs print into one text
  std::optional<double> average_busbw;
  std::optional<std::string> out_of_bounds;
  bool truncated = false;
};

struct Reading;

[[nodiscard]] std::vector<Reading> read_collective_rows(const Text& text);
/// A reading for each collective, algorithm and number of ranks of a report.
[[nodiscard]] std::vector<Reading> read_collective_json(const Text& text);

}  // namespace ringside
