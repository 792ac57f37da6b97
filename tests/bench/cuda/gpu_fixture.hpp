// SPDX-License-Identifier: MIT
/// Tests of the benchmark on virtual devices: at the end of each nothing may be left over or
/// unordered.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/bench/request.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {

class GpuBenchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fakecuda::Control::present()) GTEST_SKIP() << "needs the double of the CUDA runtime";
    fakecuda::Control::reset();
  }
  void TearDown() override {
    if (!fakecuda::Control::present()) return;
    for (const auto& leak : fakecuda::Control::leaks()) ADD_FAILURE() << "left: " << leak;
    for (const auto& report : fakecuda::Control::take_reports()) ADD_FAILURE() << report.text;
  }

  /// As short as it can be: a call of each size.
  static bench::BenchRequest request(const std::vector<int>& devices) {
    bench::BenchRequest request;
    request.backend = bench::BackendKind::cuda;
    request.gpus.devices = devices;
    request.gpus.allow_virtual = true;
    request.ranks = {static_cast<int>(devices.size())};
    request.sizes = {.begin = 64, .end = 4096, .factor = 64};
    request.iterations = 2;
    request.rounds = 1;
    return request;
  }
};

}  // namespace ringside::tests
