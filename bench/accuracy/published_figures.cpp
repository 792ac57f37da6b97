// SPDX-License-Identifier: MIT
/// What is fitted to published measurements, and what it was believed to be before.
#include <array>

#include "ringside/bench/accuracy/accuracy.hpp"

namespace ringside::bench {
namespace {

struct Known {
  const char* model;
  const char* figure;
  double prior, doubt, least, most;
  const char* why;
};

constexpr const char* nccl = "what NCCL counts on";
constexpr std::array<Known, 11> known = {{
    {"", "pcie.kernel", 0.91, 0.1, 0.5, 1, "packets of 128 bytes instead of 256"},
    {"", "root.memory.amd-zen2", 45, 0.5, 10, 100, "two PCIe 4.0 x16 links, less a little"},
    {"cloud", "pcie.host_both_ways", 0.73, 0.5, 0.2, 1, "as elsewhere"},
    {"nvlink-mesh", "nvlink2.kernel", 20, 0.2, 10, 25, nccl},
    {"nvswitch-ampere", "nvlink3.kernel", 20, 0.2, 10, 25, nccl},
    {"nvswitch-hopper", "nvlink4.kernel", 20.6, 0.2, 10, 25, nccl},
    {"nvswitch-hopper", "nvlink4.in_switch", 17.5, 0.2, 8, 25, "NCCL's 0.85 of a kernel's"},
    {"nvswitch-blackwell", "nvlink5.kernel", 40.1, 0.2, 20, 50, nccl},
    {"nvswitch-blackwell", "nvlink5.in_switch", 29.7, 0.2, 15, 50, "NCCL's 0.74 of a kernel's"},
    {"", "nccl.nvls_fill", 50, 0.7, 5, 200, "the time of some MiB on each of 16 channels"},
    {"xgmi-mesh", "xgmi.kernel", 51.2, 0.2, 20, 64, "0.8 of 64 GB/s, as kernels reach of NVLink"},
}};

}  // namespace

const std::vector<ClassFigure>& published_figures() {
  static const std::vector<ClassFigure> figures = [] {
    std::vector<ClassFigure> list;
    for (const auto& each : known) {
      ClassFigure figure;
      figure.model = each.model;
      figure.figure = FreeFigure{.name = each.figure,
                                 .prior = each.prior,
                                 .doubt = each.doubt,
                                 .least = each.least,
                                 .most = each.most};
      figure.prior_source = each.why;
      list.push_back(std::move(figure));
    }
    return list;
  }();
  return figures;
}

}  // namespace ringside::bench
