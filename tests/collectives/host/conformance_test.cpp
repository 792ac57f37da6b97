// SPDX-License-Identifier: MIT
/// The host executor equals the reference interpreter bit for bit: every algorithm, rank count,
/// placement, type, operator, slices and lanes, in calls that follow one another without a barrier
/// and reuse their buffers at once. `--full` runs every combination but that of lengths, which take
/// turns; otherwise a fair sample.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/reference.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/support/elements.hpp"

namespace ringside::tests {
namespace {

bool full_run = false;

struct Case {
  std::string spec;
  bool in_place = false;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t elements = 0;
  std::uint64_t seed = 0;
};

std::string describe(const Case& c, int ranks) {
  return fmt::format("{} ranks={} {} {} {} elements={}", c.spec, ranks,
                     c.in_place ? "in_place" : "out_of_place", to_string(c.type), to_string(c.op),
                     c.elements);
}

constexpr double scalar = 0.75;

std::uint64_t input_seed(const Case& c, int rank, int round) {
  return c.seed * 1000 + static_cast<std::uint64_t>(rank) * 2 + static_cast<std::uint64_t>(round);
}

std::vector<std::byte> input_of(const Case& c, int rank, int round) {
  std::vector<std::byte> data(c.elements * size_of(c.type));
  fill(c.type, input_seed(c, rank, round), c.elements, data.data());
  return data;
}

/// What the reference interpreter leaves in rank 0's output (all ranks' are equal: it checks).
std::vector<std::byte> expectation(const Case& c, int ranks, int round) {
  const Plan plan = make_plan(c.spec, {Collective::all_reduce, ranks, 0, c.in_place});
  std::vector<std::vector<std::byte>> inputs, outputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(input_of(c, rank, round));
    outputs.push_back(c.in_place ? inputs.back()
                                 : std::vector<std::byte>(inputs.back().size(), std::byte{0xa5}));
  }
  PlanBuffers buffers;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    buffers.outputs.push_back(outputs[rank].data());
    buffers.inputs.push_back(c.in_place ? outputs[rank].data() : inputs[rank].data());
  }
  run_reference(plan, {{c.elements}, c.type, c.op, scalar}, buffers);
  for (const auto& output : outputs)
    if (first_difference(c.type, output.data(), outputs[0].data(), c.elements) != c.elements)
      ADD_FAILURE() << "the reference's ranks differ: " << describe(c, ranks);
  return outputs[0];
}

/// Two calls, buffers reused at once; returns what is wrong, or nothing.
std::string run_case(Communicator& comm, const Case& c, const std::vector<std::byte>* expected) {
  const std::size_t bytes = c.elements * size_of(c.type);
  std::vector<std::byte> in(bytes), out(bytes, std::byte{0x5a});
  for (int round = 0; round < 2; ++round) {
    fill(c.type, input_seed(c, comm.rank(), round), c.elements, in.data());
    std::byte* result = c.in_place ? in.data() : out.data();
    comm.all_reduce(in.data(), result, c.elements, c.type, c.op,
                    {.algorithm = c.spec, .scalar = scalar});
    const std::size_t at = first_difference(c.type, result, expected[round].data(), c.elements);
    if (at != c.elements)
      return fmt::format("{}: rank {}, call {}: element {} differs", describe(c, comm.size()),
                         comm.rank(), round, at);
    if (!c.in_place && first_difference(c.type, in.data(), input_of(c, comm.rank(), round).data(),
                                        c.elements) != c.elements)
      return describe(c, comm.size()) + ": the input was changed";
  }
  return {};
}

void run_cases(int ranks, const std::vector<Case>& cases) {
  std::vector<std::vector<std::byte>> expected;  // two a case
  for (const auto& c : cases)
    for (int round = 0; round < 2; ++round) expected.push_back(expectation(c, ranks, round));
  std::mutex mutex;
  std::vector<std::string> faults;
  World::threads(ranks).run([&](Communicator& comm) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (const auto fault = run_case(comm, cases[i], &expected[2 * i]); !fault.empty()) {
        const std::lock_guard lock(mutex);
        faults.push_back(fault);
      }
  });
  for (std::size_t i = 0; i < faults.size() && i < 5; ++i) ADD_FAILURE() << faults[i];
  EXPECT_EQ(faults.size(), 0u);
}

/// Every algorithm of all_reduce with its variants.
std::vector<std::string> specs_for(int ranks) {
  std::vector<std::string> specs;
  for (const AlgorithmInfo& info : registered_algorithms())
    if (std::find(info.collectives.begin(), info.collectives.end(), Collective::all_reduce) !=
        info.collectives.end())
      specs.push_back(info.name);
  for (const char* spec : {"one_shot:transfer=push", "two_shot:transfer=push",
                           "two_shot:transfer=pull", "hierarchical:inner=one_shot,outer=one_shot",
                           "hierarchical:inner=ring,outer=recursive_doubling"})
    specs.emplace_back(spec);
  if (ranks == 4) {
    specs.emplace_back("ring:order=0-2-3-1");
    specs.emplace_back("hierarchical:groups=3-0-1/2,inner=halving_doubling,outer=naive");
  }
  return specs;
}

bool supported(const std::string& spec, const Request& request) {
  try {
    (void)PlanStream(parse_spec(spec), request);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << spec << ": " << error.what();
    return false;
  }
}

std::string with_parameters(const std::string& spec, int slices, int lanes, int depth) {
  std::string text = spec;
  char joint = spec.find(':') == std::string::npos ? ':' : ',';
  const auto add = [&](const char* name, int value) {
    if (value == 0) return;
    text += fmt::format("{}{}={}", joint, name, value);
    joint = ',';
  };
  add("slices", slices);
  add("lanes", lanes);
  add("depth", depth);
  return text;
}

struct Cut {
  int slices, lanes, depth;  // 0: not given
};

/// Message lengths: none, one, fewer than ranks, odd, and enough to fill every slice.
std::vector<std::size_t> lengths_for(int ranks) {
  return {0, 1, static_cast<std::size_t>(ranks) / 2 + 1, 131, 4099};
}

/// Deals types and operators out evenly when not all combinations are run.
class Dealer {
 public:
  ElementType type() { return all_element_types[next_++ % all_element_types.size()]; }
  ReduceOp op() { return all_reduce_ops[(next_ / 3) % all_reduce_ops.size()]; }
  std::size_t number() { return next_++; }

 private:
  std::size_t next_ = 0;
};

std::vector<Case> cases_for(int ranks) {
  const std::vector<Cut> cuts = {{0, 0, 0}, {2, 1, 1},  {3, 2, 0}, {4, 4, 2},
                                 {7, 3, 3}, {16, 2, 1}, {64, 4, 0}};
  Dealer deal;
  std::vector<Case> cases;
  for (const auto& spec : specs_for(ranks))
    for (const bool in_place : {false, true}) {
      if (!supported(spec, {Collective::all_reduce, ranks, 0, in_place})) continue;
      for (const auto& cut : cuts) {
        const auto text = with_parameters(spec, cut.slices, cut.lanes, cut.depth);
        const auto lengths = lengths_for(ranks);
        if (full_run) {
          for (const auto type : all_element_types)
            for (const auto op : all_reduce_ops) {
              const auto number = deal.number();
              cases.push_back({text, in_place, type, op, lengths[number % lengths.size()], number});
            }
        } else {
          const auto type = deal.type();
          const auto op = deal.op();
          cases.push_back(
              {text, in_place, type, op, lengths[deal.number() % lengths.size()], deal.number()});
          cases.push_back(
              {text, in_place, ElementType::float32, ReduceOp::sum, 4099, deal.number()});
        }
      }
    }
  return cases;
}

TEST(HostConformance, EqualsTheReferenceBitForBit) {
  const ScopedOption plans_only("inline", "0");  // also for messages that would fit in an entry
  std::vector<int> rank_counts = {1, 2, 3, 4, 5, 8};
  if (full_run) rank_counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
  std::size_t count = 0;
  for (const int ranks : rank_counts) {
    const auto cases = cases_for(ranks);
    constexpr std::size_t batch = 2000;  // bounds what the expectations take in memory
    for (std::size_t begin = 0; begin < cases.size(); begin += batch)
      run_cases(ranks, {cases.begin() + static_cast<std::ptrdiff_t>(begin),
                        cases.begin() +
                            static_cast<std::ptrdiff_t>(std::min(begin + batch, cases.size()))});
    count += cases.size();
  }
  fmt::print("host conformance: {} cases of two calls each, all ranks compared\n", count);
}

TEST(HostConformance, EveryTypeAndOperatorOnEveryAlgorithm) {
  std::size_t count = 0;
  for (const int ranks : {3, 4}) {
    std::vector<Case> cases;
    for (const auto& spec : specs_for(ranks))
      for (const auto type : all_element_types)
        for (const auto op : all_reduce_ops)
          cases.push_back({spec, cases.size() % 2 == 0, type, op, 131, cases.size()});
    run_cases(ranks, cases);
    count += cases.size();
  }
  fmt::print("host conformance: {} cases of algorithm x type x operator\n", count);
}

TEST(HostConformance, MessagesThatTravelInTheCall) {
  std::size_t count = 0;
  for (const int ranks : {1, 2, 5, 17}) {
    std::vector<Case> cases;
    for (const auto& spec : specs_for(ranks))
      for (const auto type : all_element_types)
        for (const auto op : all_reduce_ops) {
          const std::size_t most = 48 / size_of(type);
          const std::size_t number = cases.size();
          cases.push_back({spec, number % 2 == 0, type, op, most - number % 3, number});
          cases.push_back({spec, number % 2 == 1, type, op, number % (most + 2), number + 1});
        }
    run_cases(ranks, cases);
    count += cases.size();
  }
  fmt::print("host conformance: {} cases of up to 48 bytes and a little more\n", count);
}

TEST(HostConformance, LargeMessagesAndMisalignedBuffers) {
  constexpr std::size_t elements = 700'001;
  for (const char* spec : {"two_shot", "ring:slices=8", "one_shot", "chain:slices=16"}) {
    const Case c{spec, false, ElementType::float32, ReduceOp::sum, elements, 7};
    const auto expected = expectation(c, 3, 0);
    World::threads(3).run([&](Communicator& comm) {
      const auto shift = static_cast<std::size_t>(comm.rank()) * 3 + 1;  // bytes: no alignment
      const std::size_t bytes = elements * sizeof(float);
      std::vector<std::byte> in(bytes + 64), out(bytes + 64);
      const auto data = input_of(c, comm.rank(), 0);
      std::memcpy(in.data() + shift, data.data(), bytes);
      comm.all_reduce(in.data() + shift, out.data() + 2 * shift, elements, c.type, c.op,
                      {.algorithm = spec});
      EXPECT_EQ(first_difference(c.type, out.data() + 2 * shift, expected.data(), elements),
                elements)
          << spec << " rank " << comm.rank();
    });
  }
}

}  // namespace
}  // namespace ringside::tests

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--full") ringside::tests::full_run = true;
  return RUN_ALL_TESTS();
}
