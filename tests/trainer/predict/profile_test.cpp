// SPDX-License-Identifier: MIT
/// When gradients are ready, and how fast a device is.
#include "ringside/trainer/predict/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/trainer/predict/device_speed.hpp"

namespace ringside::tests {
namespace {

using trainer::Model;
using trainer::ModelProfile;
using trainer::profile_of;

double ready_of(const ModelProfile& profile, std::string_view tensor) {
  const auto& all = profile.gradients.tensors();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == tensor; });
  EXPECT_NE(found, all.end()) << tensor;
  return profile.ready.at(static_cast<std::size_t>(found - all.begin()));
}

TEST(Profile, GradientsAreReadyFromTheLastLayerToTheFirst) {
  for (const auto model : {Model::mlp, Model::lenet, Model::resnet18}) {
    const auto profile = profile_of({.model = model}, 256);
    ASSERT_EQ(profile.ready.size(), profile.gradients.size());
    EXPECT_DOUBLE_EQ(profile.ready.front(), 1);
    EXPECT_GT(profile.ready.back(), 0);
    EXPECT_TRUE(std::is_sorted(profile.ready.rbegin(), profile.ready.rend()));
    EXPECT_EQ(std::set<double>(profile.ready.begin(), profile.ready.end()).size(),
              profile.gradients.size() / 2);
  }
}

TEST(Profile, AgreesWithWhatHooksMeasuredOnACpu) {
  // On one core of a CPU: stages 4 and 3 of ResNet-18 within the first 45 % of the backward pass,
  // LeNet's dense layers at 28 %, conv2 at 70 %.
  const auto resnet = profile_of({.model = Model::resnet18}, 256);
  EXPECT_NEAR(ready_of(resnet, "layer3.0.conv1.weight"), 0.45, 0.1);
  const auto lenet = profile_of({.model = Model::lenet}, 256);
  EXPECT_NEAR(ready_of(lenet, "fc1.weight"), 0.28, 0.15);
  EXPECT_NEAR(ready_of(lenet, "conv2.weight"), 0.70, 0.15);
}

TEST(Profile, LaunchesAreAllThatCountsOfASingleSample) {
  // On a device that does nothing else, layers take their time by their kernels: of LeNet's 17 in
  // a backward pass loss and dense layers have 8, conv2 with what follows it 5.
  const auto lenet = profile_of({.model = Model::lenet}, 1, {.flops = 1e30, .bandwidth = 1e30});
  EXPECT_NEAR(ready_of(lenet, "fc1.weight"), 8.0 / 17, 1e-9);
  EXPECT_NEAR(ready_of(lenet, "conv2.weight"), 13.0 / 17, 1e-9);
}

TEST(Profile, ArithmeticIsTwoProductsALayerAndOneForTheFirst) {
  // 10^6 multiplications: conv1 0.12168 (once), conv2 2.025, fc1 0.1024, fc2 0.00128 (twice each).
  const auto lenet =
      profile_of({.model = Model::lenet}, 256, {.flops = 1, .bandwidth = 1e30, .launch = 0});
  const double all = 0.12168 + 2 * (2.025 + 0.1024 + 0.00128);
  EXPECT_NEAR(ready_of(lenet, "fc2.weight"), 2 * 0.00128 / all, 1e-6);
  EXPECT_NEAR(ready_of(lenet, "fc1.weight"), 2 * (0.00128 + 0.1024) / all, 1e-6);
  EXPECT_NEAR(ready_of(lenet, "conv2.weight"), 1 - 0.12168 / all, 1e-6);
}

TEST(Profile, OfASizeHasLayersThatAreAlike) {
  const auto profile = trainer::even_profile(7e9, 32);
  EXPECT_EQ(profile.gradients.numbers(), 7'000'000'000U);
  ASSERT_EQ(profile.ready.size(), 32U);
  EXPECT_DOUBLE_EQ(profile.ready.back(), 1.0 / 32);
  EXPECT_DOUBLE_EQ(profile.ready.front(), 1);
  EXPECT_EQ(profile.name, "7,000,000,000 parameters");
  EXPECT_NE(profile.how.find("assumed"), std::string::npos);
  EXPECT_THROW((void)trainer::even_profile(10, 11), Error);
  EXPECT_THROW((void)trainer::even_profile(10, 0), Error);
}

TEST(DeviceSpeed, ThatIsPublishedHasItsSource) {
  const auto* lenet = trainer::published_speed(Model::lenet);
  ASSERT_NE(lenet, nullptr);
  EXPECT_EQ(lenet->name, "d2l-2023");
  EXPECT_NEAR(lenet->seconds, 0.01277, 1e-5);  // 3.0 s / 235 steps
  EXPECT_NEAR(lenet->fixed, 0.01106, 1e-5);
  const auto speed = trainer::speed_of(*lenet, 512);
  EXPECT_NEAR(speed.seconds, lenet->fixed + 2 * (lenet->seconds - lenet->fixed), 1e-12);
  EXPECT_NE(speed.source.find("published, d2l-2023"), std::string::npos);
  EXPECT_NE(trainer::published_speed(Model::resnet18, "d2l-rebuild"), nullptr);
  EXPECT_EQ(trainer::published_speed(Model::lenet, "d2l-rebuild"), nullptr);
  EXPECT_EQ(trainer::published_speed(Model::mlp), nullptr);
  for (const auto& each : trainer::published_speeds()) EXPECT_LE(each.fixed, each.seconds);
}

TEST(DeviceSpeed, ThatIsMeasuredHereSaysSo) {
  const trainer::ModelSettings settings{.model = Model::mlp, .width = 8};
  const auto engine = trainer::engine_for(Model::mlp);
  const auto measured = trainer::measure_here(*engine, settings, 32);
  EXPECT_NE(measured.speed.source.find("measured here, processor time of one thread of this CPU"),
            std::string::npos);
  EXPECT_GT(measured.speed.seconds, 0);
  EXPECT_GT(measured.speed.backward_share, 0);
  EXPECT_LT(measured.speed.backward_share, 1);
  ASSERT_EQ(measured.ready.size(), 4U);
  for (const double ready : measured.ready) {
    EXPECT_GT(ready, 0);
    EXPECT_LE(ready, 1);
  }
  EXPECT_LT(measured.ready[2], measured.ready[0]);  // the output layer comes first
}

}  // namespace
}  // namespace ringside::tests
