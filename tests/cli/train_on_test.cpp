// SPDX-License-Identifier: MIT
/// `ringside train --on` as people use it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

const std::vector<std::string> box = {"train", "--on", "4gpu-pcie4-two-switches"};

ProgramResult on_box(const std::vector<std::string>& words) {
  auto all = box;
  all.insert(all.end(), words.begin(), words.end());
  return ringside_program(all);
}

json predicted(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const auto result = on_box(words);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return json::parse(result.output);
}

void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

std::string refusal_of(const ProgramResult& result) {
  expect_refused(result, "");
  return result.error;
}

TEST(TrainOn, TellsSpeedupsWhereTheyAreFromAndWhy) {
  const auto result = on_box({"--model", "resnet18", "--strategy", "distributed"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error, "");
  for (const std::string_view part :
       {"# predicted", "# machine: 4gpu-pcie4-two-switches",
        "# model: resnet18, 44.7 MB of gradients", "# one device: 51.9 ms for its 256 samples",
        "published, d2l-2023", "weak scaling", "naive", "double_tree", "ring", "hierarchical",
        "auto", "what if", "bfloat16", "44.7 MB of gradients travel in", "narrower gradients"})
    expect_part(result.output, part);
}

TEST(TrainOn, RowsForProgramsHoldTogether) {
  const auto report = predicted({"--model", "lenet", "--ranks", "2,4", "--algorithm", "ring,naive",
                                 "--strategy", "from_scratch,distributed"});
  EXPECT_EQ(report["kind"], "predicted");
  EXPECT_EQ(report["scaling"], "weak");
  ASSERT_EQ(report["rows"].size(), 9U);
  EXPECT_EQ(report["rows"][0]["strategy"], "single");
  const double one = report["device_step_seconds"];
  for (const auto& row : report["rows"]) {
    const double step = row["step_seconds"], ranks = row["ranks"];
    EXPECT_NEAR(step, row["computing_seconds"].get<double>() + row["exposed_seconds"].get<double>(),
                1e-12);
    EXPECT_NEAR(row["communication_seconds"].get<double>(),
                row["hidden_seconds"].get<double>() + row["exposed_seconds"].get<double>(), 1e-12);
    EXPECT_NEAR(row["samples_per_second"].get<double>(), ranks * 256 / step, 1e-6);
    EXPECT_NEAR(row["speedup"].get<double>(), ranks * one / step, 1e-9);
  }
  ASSERT_EQ(report["what_ifs"].size(), 5U);
  EXPECT_FALSE(report["explanation"].empty());
  ASSERT_EQ(report["gradients"].size(), 8U);
}

TEST(TrainOn, SaysWhyLenetGainsNothingFromASharedBatch) {
  const auto report = predicted({"--model", "lenet", "--strong", "--algorithm", "ring"});
  for (const auto& row : report["rows"]) EXPECT_LT(row["speedup"], 1.25);
  expect_part(report["explanation"].dump(), "do not become less with the samples");
  const auto text = on_box({"--model", "lenet", "--algorithm", "ring"}).output;
  expect_part(text, "communication hardly counts");
  expect_part(text, "do not become less with the samples");
}

TEST(TrainOn, HelpsAModelOfAnySize) {
  const auto report = predicted({"--parameters", "7e9", "--step-seconds", "1.2", "--algorithm",
                                 "ring", "--strategy", "distributed"});
  EXPECT_EQ(report["parameters"], 7'000'000'000);
  expect_part(report["explanation"].dump(), "accumulating 4 passes raises efficiency from");
  EXPECT_EQ(report["gradients"].size(), 32U);
  const auto& row = report["rows"][1];
  EXPECT_TRUE(row.contains("batches_per_second"));
  EXPECT_LT(row["efficiency"], 0.7);
  EXPECT_GT(report["what_ifs"][1]["efficiency"], row["efficiency"]);  // accumulated
  EXPECT_GT(report["what_ifs"][2]["efficiency"], row["efficiency"]);  // bfloat16
  EXPECT_GT(report["what_ifs"][3]["efficiency"], report["what_ifs"][1]["efficiency"]);
}

TEST(TrainOn, NamesTheStageOfSharding) {
  const std::vector<std::string> first = {"--strategy", "sharded", "--zero-stage", "1"};
  const auto text = on_box(first).output;
  expect_part(text, "\nsharded (1) ");
  expect_part(text, "what if: sharded (1) by auto");
  EXPECT_EQ(predicted(first)["zero_stage"], 1);
  EXPECT_EQ(predicted({"--strategy", "sharded"})["zero_stage"], 2);
}

TEST(TrainOn, SaysThatNothingIsHiddenWhereItIsNot) {
  const auto report = predicted({"--strategy", "from_scratch", "--algorithm", "two_shot"});
  EXPECT_EQ(report["rows"][1]["hidden_seconds"], 0);
}

TEST(TrainOn, TakesTheMachineAsItMightBe) {
  const std::vector<std::string> words = {"--model", "resnet18",   "-a",
                                          "ring",    "--strategy", "from_scratch"};
  const auto step = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return predicted(more)["rows"][1]["step_seconds"].get<double>();
  };
  const double as_it_is = step({});
  EXPECT_GT(step({"--what-if", "p2p=off"}), as_it_is);
  EXPECT_GT(step({"--what-if", "pcie=gen3"}), as_it_is);
  EXPECT_GT(step({"--set", "pcie4.x16.bandwidth=13"}), as_it_is);
  EXPECT_GT(step({"--step-seconds", "80ms"}), as_it_is);
  EXPECT_LT(step({"--wire-type", "bfloat16"}), as_it_is);
  expect_part(on_box({"--what-if", "p2p=off", "-a", "nccl", "--strategy", "distributed"}).output,
              "without peer access");
}

TEST(TrainOn, MeasuresAStepHereWhereAsked) {
  const auto report = predicted({"--model", "mlp", "--width", "8", "--step-seconds", "measured",
                                 "--batch", "32", "-a", "ring", "--ranks", "2"});
  expect_part(report["device_source"], "measured here");
  expect_part(report["ready_source"], "measured here");
  EXPECT_GT(report["device_step_seconds"], 0);
}

TEST(TrainOn, RefusesWhatHasNoMeaning) {
  const auto refused = [](const std::vector<std::string>& words, std::string_view why) {
    expect_part(refusal_of(on_box(words)), why);
  };
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--checkpoint", "x"},
                                             {"--resume", "x"},
                                             {"--epochs", "2"},
                                             {"--steps", "2"},
                                             {"--lr", "1"},
                                             {"--data", "."},
                                             {"--synthetic", "9"},
                                             {"--backend", "cuda"},
                                             {"--compare"},
                                             {"--slow-wire", "1M"},
                                             {"--threads", "2"},
                                             {"--micro-batches", "2"},
                                             {"--shares", "1,2"},
                                             {"--batch-norm", "synchronised"}})
    refused(words, words[0] + " has no meaning with --on: nothing is trained");
  refused({"--parameters", "7B", "--step-seconds", "1", "--model", "lenet"},
          "--model has no meaning with --parameters");
  refused({"--layers", "3"}, "--layers has no meaning without --parameters");
  refused({"--step-seconds", "1", "--device-speed", "d2l-2019"},
          "--device-speed has no meaning with --step-seconds");
  refused({"--strategy", "from_scratch", "--bucket", "1M"}, "--bucket has no meaning");
  refused({"--strategy", "distributed", "--zero-stage", "1"}, "--zero-stage has no meaning");
  refused({"--strategy", "sharded,data_parallel", "--algorithm", "ring"},
          "--algorithm has no meaning with --on but for from_scratch and distributed");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--parameters", "7B"},
                                             {"--step-seconds", "1"},
                                             {"--strong"},
                                             {"--what-if", "p2p=off"},
                                             {"--link-model", "pcie"},
                                             {"--device-speed", "d2l-2023"}}) {
    auto all = words;
    all.insert(all.begin(), "train");
    expect_part(refusal_of(ringside_program(all)), words[0] + " has no meaning without --on");
  }
}

TEST(TrainOn, RefusesBadInputInOneLine) {
  const auto refused = [](const std::vector<std::string>& words, std::string_view why) {
    expect_part(refusal_of(on_box(words)), why);
  };
  refused({"--ranks", "5"}, "5 ranks on 4 GPUs");
  refused({"--parameters", "7B"}, "--parameters needs --step-seconds");
  refused({"--parameters", "many", "--step-seconds", "1"}, "a number of parameters");
  refused({"--parameters", "7B", "--step-seconds", "measured"}, "measured");
  refused({"--parameters", "7", "--step-seconds", "1"}, "7 parameters cannot lie in 32 layers");
  refused({"--step-seconds", "0"}, "--step-seconds: expected seconds");
  refused({"--step-seconds", "soon"}, "--step-seconds: expected seconds");
  refused({"--backward-share", "1.5"}, "--backward-share: expected a number");
  refused({"--fixed-seconds", "1"}, "more than the whole step");
  refused({"--device-speed", "d2l-1999"}, "of lenet there are d2l-2023, d2l-2019");
  refused({"--model", "mlp"}, "no step of mlp was published: say --step-seconds");
  refused({"--model", "resnet18", "--width", "16"}, "resnet18 of that width");
  refused({"--model", "lenet", "--precision", "float64"}, "no step of lenet in float64");
  refused({"--accumulate", "2147483648"}, "--accumulate: at most 10000 with --on");
  refused({"--algorithm", "rng"}, "rng");
  refused({"--algorithm", "hierarchical:groups=0-1/2"}, "groups");
  refused({"--what-if", "p2p=maybe"}, "p2p");
  refused({"--set", "no_such_figure=1"}, "no_such_figure");
  expect_part(refusal_of(ringside_program({"train", "--on", "no-such-box"})), "no-such-box");
}

}  // namespace
}  // namespace ringside::tests
