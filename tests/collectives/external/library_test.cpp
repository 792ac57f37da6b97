// SPDX-License-Identifier: MIT
/// NCCL is opened at run time: what is wrong with it is said in one clear line each.
#include "ringside/collectives/external/nccl/library.hpp"

#include <stdlib.h>

#include <gtest/gtest.h>

#include "ringside/tests/collectives/external/fixture.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using nccl::Library;
using nccl::Version;

/// What a world on NCCL is refused with; the library as the option names it.
std::pair<ErrorCode, std::string> refusal(const std::string& library,
                                          const std::vector<int>& devices = {0, 1}) {
  const ScopedOption path("nccl_library", library);
  return error_of([&] { (void)World::nccl(devices); });
}

void expect_in(const std::string& words, const std::string& text) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

class Refusals : public NcclTest {};
class RefusalsOfTheNewest : public NcclTest {
 protected:
  RefusalsOfTheNewest() : NcclTest("newest") {}
};

TEST(NcclVersion, IsReadInBothOfItsForms) {
  EXPECT_EQ(Version{22809}.text(), "2.28.9");
  EXPECT_EQ(Version{21003}.text(), "2.10.3");
  EXPECT_EQ(Version{2708}.text(), "2.7.8");
  EXPECT_TRUE(Version{22809}.at_least(2, 28));
  EXPECT_FALSE(Version{22809}.at_least(2, 29));
  EXPECT_TRUE(Version{30000}.at_least(2, 29));
}

TEST(NcclVersion, IsThatOfTheLibrary) {
  EXPECT_EQ(Library(fake_nccl()).version().text(), "2.28.9");
  EXPECT_EQ(Library(fake_nccl()).name(), "NCCL 2.28.9");
}

TEST_F(Refusals, OfALibraryThatIsNotThereSayWhereItComesFromAndHowToNameIt) {
  const auto [code, text] = refusal("libnccl_that_is_not.so");
  EXPECT_EQ(code, ErrorCode::unsupported);
  expect_in("NCCL is not to be found", text);
  expect_in("libnccl_that_is_not.so", text);
  expect_in("libnccl2", text);
  expect_in("RINGSIDE_NCCL_LIBRARY", text);
}

TEST_F(Refusals, OfAnotherLibrarySaySo) {
  const auto [code, text] = refusal("libm.so.6");
  EXPECT_EQ(code, ErrorCode::unsupported);
  EXPECT_EQ(text, "\"libm.so.6\" is no NCCL: it has no function ncclGetVersion");
}

TEST_F(Refusals, OfAnOldLibrarySayWhichIsNeeded) {
  const auto [code, text] = refusal(fake_nccl("too_old"));
  EXPECT_EQ(code, ErrorCode::unsupported);
  expect_in("is NCCL 2.9.9: 2.10 or later is needed", text);
}

TEST_F(Refusals, OfALibraryThatLacksAFunctionNameIt) {
  const auto [code, text] = refusal(fake_nccl("incomplete"));
  EXPECT_EQ(code, ErrorCode::unsupported);
  expect_in("says that it is NCCL 2.28.9 but has no function ncclSend", text);
}

TEST_F(Refusals, WithoutAUsableDeviceAreNcclsOwnWords) {
  fake.set_no_device(true);
  EXPECT_EQ(refusal(fake_nccl()),
            std::pair(ErrorCode::unsupported,
                      std::string("NCCL 2.28.9 finds no usable device: unhandled cuda error (Cuda "
                                  "failure 35 'CUDA driver version is insufficient')")));
}

TEST_F(Refusals, OfDevicesThatAreNoneSayHowManyThereAre) {
  EXPECT_EQ(refusal(fake_nccl(), {0, 7}),
            std::pair(ErrorCode::invalid_argument, std::string("device 7 is none: there are 4")));
  EXPECT_EQ(refusal(fake_nccl(), {-1}).first, ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(fake_nccl(), {}).first, ErrorCode::invalid_argument);
}

TEST_F(Refusals, OfSeveralRanksOnADeviceSayWhichVersionCan) {
  const auto [code, text] = refusal(fake_nccl(), {1, 0, 1});
  EXPECT_EQ(code, ErrorCode::unsupported);
  expect_in("NCCL 2.28.9 takes one rank a device, and device 1 is asked for more than once", text);
  expect_in("2.30", text);
}

TEST_F(RefusalsOfTheNewest, ConcernNoRanksThatShareADevice) {
  World world = World::nccl({0, 0, 1});
  world.run([](Communicator& comm) { expect_works(comm); });
}

TEST_F(RefusalsOfTheNewest, OfRanksThatShareADeviceSayWhatTheyNeed) {
  fake.fail_call(1, 5);
  const auto [code, text] = refusal(fake_nccl("newest"), {0, 0});
  EXPECT_EQ(code, ErrorCode::device);
  EXPECT_EQ(text,
            "NCCL 2.30.7 cannot start on devices 0, 0: invalid usage (ncclCommInitAll was told to "
            "fail); several ranks on a device need NCCL_MULTI_RANK_GPU_ENABLE=1");
}

/// The library itself, where there is one and no GPU: the double cannot reach it, as it brings a
/// CUDA runtime of its own.
TEST(RealNccl, WithoutAGpuSaysThatThereIsNone) {
  if (!fakecuda::Control::present()) GTEST_SKIP() << "there may be a GPU";
  fakecuda::Control::reset();
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);  // NOLINT(concurrency-mt-unsafe): no other thread yet
  std::optional<Library> library;
  try {
    library.emplace("libnccl.so.2");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const ScopedOption path("nccl_library", "libnccl.so.2");
  const Outcome outcome = outcome_of([] { (void)World::nccl({0}); });
  if (!outcome.code) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(outcome.code, ErrorCode::unsupported);
  EXPECT_TRUE(outcome.says(library->name() + " finds no usable device: ")) << outcome.what;
  EXPECT_EQ(outcome.what.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace ringside::tests
