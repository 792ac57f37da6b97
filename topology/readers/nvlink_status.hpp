// SPDX-License-Identifier: MIT
/// `nvidia-smi nvlink -s`: the NVLinks of each GPU, with the rate of those that are up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct NvlinkStatus {
  struct Gpu {
    int number = 0;
    std::string model;
    std::vector<double> active;  ///< GB/s of each link that is up, in one direction
    int inactive = 0;            ///< links that are there and down
    bool all_inactive = false;   ///< said in one line for all of them
  };
  std::vector<Gpu> gpus;
};

struct Reading;

[[nodiscard]] std::vector<Reading> read_nvlink_status(const Text& text);

}  // namespace ringside
