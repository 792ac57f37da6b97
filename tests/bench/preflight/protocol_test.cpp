// SPDX-License-Identifier: MIT
/// The talk between the preflight and its worker: what is written is read back; the rest is
/// refused.
#include "ringside/bench/preflight/protocol.hpp"

#include <gtest/gtest.h>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/bench/preflight/schedule.hpp"
#include "ringside/bench/preflight/sysfs.hpp"
#include "ringside/tests/bench/preflight/machines.hpp"

#include <filesystem>

namespace ringside::tests {
namespace {

using namespace bench::preflight;

TEST(PreflightProtocol, EveryStepOfAMachineIsReadBack) {
  for (const auto& step : steps_of(machine_of(3), {})) {
    const auto line = write({.kind = Command::Kind::step, .step = step});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(read_command(line).kind, Command::Kind::step);
    EXPECT_EQ(read_command(line).step, step);
  }
}

TEST(PreflightProtocol, FactsAndOpenAreReadBack) {
  EXPECT_EQ(read_command(write({.kind = Command::Kind::facts, .step = {}})).kind,
            Command::Kind::facts);
  const auto open = read_command(write({.kind = Command::Kind::open, .device = 3, .step = {}}));
  EXPECT_EQ(open.kind, Command::Kind::open);
  EXPECT_EQ(open.device, 3);
}

TEST(PreflightProtocol, AnswersAreReadBack) {
  Reply facts;
  facts.facts = machine_of(2);
  EXPECT_EQ(dump_json(to_json(*read_reply(write(facts)).facts)), dump_json(to_json(*facts.facts)));

  Reply refusal;
  refusal.refusal = "no GPU: \"why\"";
  EXPECT_EQ(read_reply(write(refusal)).refusal, refusal.refusal);

  Reply reply;
  auto& outcome = reply.outcome;
  outcome.ending = Ending::error;
  outcome.text = "device 0: something";
  outcome.verdicts = {Verdict{Arrival::offset, 4096, 512, 32, -8, -256, 7, 1}, Verdict{}};
  outcome.times = {Seconds(1.25e-6), Seconds(0.1)};
  outcome.together = Seconds(0.2);
  outcome.bytes = 16;
  outcome.link = {.speed = "32.0 GT/s PCIe", .width = 16};
  outcome.samples = 11;
  const auto read = read_reply(write(reply)).outcome;
  EXPECT_EQ(read.ending, outcome.ending);
  EXPECT_EQ(read.text, outcome.text);
  EXPECT_EQ(read.verdicts, outcome.verdicts);
  EXPECT_EQ(read.times, outcome.times);
  EXPECT_EQ(read.together, outcome.together);
  EXPECT_EQ(read.bytes, outcome.bytes);
  EXPECT_EQ(read.link, outcome.link);
  EXPECT_EQ(read.samples, outcome.samples);
}

TEST(PreflightProtocol, RubbishIsRefused) {
  for (const auto* line : {"", "hello", "{}", "{\"outcome\": {\"ending\": \"soon\"}}"})
    EXPECT_THROW((void)read_reply(line), Error) << line;
  for (const auto* line : {"", "{}", "{\"step\": {}}", "{\"open\": -7}"})
    EXPECT_THROW((void)read_command(line), Error) << line;
}

TEST(PreflightFacts, SysfsTellsNodeAndLinkAsFarAsItCan) {
  const std::string folder = testing::TempDir() + "ringside_preflight_sysfs";
  std::filesystem::create_directories(folder + "/0000:ab:00.0");
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file(folder + "/0000:ab:00.0/" + name, text);
  };
  put("numa_node", "1\n");
  put("current_link_speed", "16.0 GT/s PCIe\n");
  put("max_link_speed", "Unknown\n");
  put("current_link_width", "8\n");
  DeviceFacts device;
  device.pci_bus_id = "0000:AB:00.0";
  add_sysfs_facts(device, folder);
  EXPECT_EQ(device.numa_node, 1);
  EXPECT_EQ(device.link.speed, "16.0 GT/s PCIe");
  EXPECT_EQ(device.link_most.speed, std::nullopt);
  EXPECT_EQ(device.link.width, 8);
  EXPECT_EQ(device.link_most.width, std::nullopt) << "there is no such file";
  put("numa_node", "-1\n");
  add_sysfs_facts(device, folder);
  EXPECT_EQ(device.numa_node, std::nullopt) << "-1: nobody knows";
}

}  // namespace
}  // namespace ringside::tests
