// SPDX-License-Identifier: MIT
/// The fold on the device against the fold on the host, bit for bit (NaNs as a class): on the test
/// double, and on a GPU, where many folds are run between two copies.
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/tests/collectives/reduction/samples.hpp"
#include "ringside/tests/collectives/reduction/variants.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::cuda {
namespace {

using testing::Aliasing;
using testing::Variant;
using testing::variants;
using tests::fakecuda::Control;

/// How runs lie: run i begins `first + i * step` bytes behind a 64-byte boundary.
struct Lie {
  std::size_t first = 0;
  std::size_t step = 0;
};

struct Case {
  ElementType type;
  Variant variant;
  std::size_t k;
  std::size_t m;
  std::size_t elements;
  Lie lie;
  Aliasing aliasing = Aliasing::none;
  double scalar = 2.75;
};

std::string describe(const Case& what) {
  return std::string(to_string(what.type)) + " " + what.variant.name +
         " k=" + std::to_string(what.k) + " m=" + std::to_string(what.m) +
         " elements=" + std::to_string(what.elements) + " run i at " +
         std::to_string(what.lie.first) + " + i * " + std::to_string(what.lie.step) +
         " aliasing=" + std::to_string(static_cast<int>(what.aliasing));
}

FoldShape shape_of(const Case& what) {
  return {.k = what.k,
          .m = what.m,
          .type = what.type,
          .op = what.variant.op,
          .raw_mask = what.variant.raw_mask,
          .all_raw = what.variant.all_raw,
          .scalar = what.scalar,
          .completes = what.variant.completes,
          .ranks = what.variant.ranks};
}

/// Elements for sources, made once per type: source j of any fold begins elsewhere in them.
const std::vector<std::byte>& pool(ElementType type) {
  static std::vector<std::byte> pools[all_element_types.size()];
  auto& found = pools[static_cast<std::size_t>(type)];
  if (found.empty()) found = testing::samples(type, 1 << 16, 100);
  return found;
}

/// Folds that are run together: their runs lie in one piece of memory, apart from each other and
/// with bytes between them that nobody may touch.
class Batch {
 public:
  explicit Batch(std::size_t most_bytes = std::size_t{8} << 20) : most_bytes_(most_bytes) {}
  ~Batch() { EXPECT_TRUE(folds_.empty()) << "folds that were never run"; }

  /// Sources get elements from the pool, or those given (row after row).
  void add(const Case& what, const std::vector<std::byte>& rows = {}) {
    const std::size_t bytes = what.elements * size_of(what.type);
    if (memory_.size() + (what.k + what.m) * (bytes + 256) > most_bytes_) run();
    Placed fold{what, {}, {}};
    for (std::size_t j = 0; j < what.k; ++j) {
      fold.sources.push_back(place(what.lie, j, bytes));
      std::byte* const to = memory_.data() + fold.sources.back();
      if (rows.empty()) {
        fill(to, bytes, pool(what.type), j * 3001 * size_of(what.type));
      } else {
        std::memcpy(to, rows.data() + j * bytes, bytes);
      }
    }
    for (std::size_t i = 0; i < what.m; ++i) {
      const bool alias = i < what.k && (what.aliasing == Aliasing::all ||
                                        (what.aliasing == Aliasing::first && i == 0) ||
                                        (what.aliasing == Aliasing::last && i + 1 == what.m));
      fold.destinations.push_back(alias ? fold.sources[(i + what.k - 1) % what.k]
                                        : place(what.lie, what.k + i, bytes));
    }
    folds_.push_back(std::move(fold));
  }

  /// Runs them on the current device and compares. Throws Error(device).
  void run() {
    memory_.resize(memory_.size() + 64, std::byte{0xa5});
    std::vector<std::byte> got(memory_.size());
    {
      const auto device = DeviceMemory::on(0, memory_.size());
      const auto stream = Stream::on(0);
      check(cudaMemcpyAsync(device.get(), memory_.data(), memory_.size(), cudaMemcpyHostToDevice,
                            stream.get()),
            "cudaMemcpyAsync", 0);
      for (const Placed& fold : folds_) {
        const auto [sources, destinations] = addresses(fold, device.data());
        check(resolve_device_fold(shape_of(fold.what))
                  .launch(sources.data(), destinations.data(), fold.what.elements, stream.get()),
              describe(fold.what), 0);
      }
      check(cudaMemcpyAsync(got.data(), device.get(), got.size(), cudaMemcpyDeviceToHost,
                            stream.get()),
            "cudaMemcpyAsync", 0);
      check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", 0);
    }
    compare(std::move(got));
    compared_ += folds_.size();
    folds_.clear();
    memory_.clear();
  }

  [[nodiscard]] std::size_t compared() const { return compared_; }

 private:
  struct Placed {
    Case what;
    std::vector<std::size_t> sources, destinations;
  };

  std::size_t place(const Lie& lie, std::size_t i, std::size_t bytes) {
    constexpr std::size_t guard = 16;
    const std::size_t aligned = (memory_.size() + guard + 63) / 64 * 64;
    const std::size_t start = aligned + lie.first + i * lie.step % 64;
    memory_.resize(start + bytes + guard, std::byte{0xa5});
    return start;
  }

  static void fill(std::byte* to, std::size_t bytes, const std::vector<std::byte>& from,
                   std::size_t offset) {
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t at = (offset + done) % from.size();
      const std::size_t n = std::min(bytes - done, from.size() - at);
      std::memcpy(to + done, from.data() + at, n);
      done += n;
    }
  }

  static std::pair<std::vector<const std::byte*>, std::vector<std::byte*>> addresses(
      const Placed& fold, std::byte* base) {
    std::pair<std::vector<const std::byte*>, std::vector<std::byte*>> result;
    for (std::size_t offset : fold.sources) result.first.push_back(base + offset);
    for (std::size_t offset : fold.destinations) result.second.push_back(base + offset);
    return result;
  }

  void compare(std::vector<std::byte> got) {
    std::vector<std::byte>& expected = memory_;
    for (const Placed& fold : folds_) {
      const auto [sources, destinations] = addresses(fold, expected.data());
      resolve_fold(shape_of(fold.what))(sources.data(), destinations.data(), fold.what.elements);
    }
    if (got == expected) return;
    for (const Placed& fold : folds_) {
      if (::testing::Test::HasFailure()) return;  // one tells enough
      const Case& what = fold.what;
      const std::size_t bytes = what.elements * size_of(what.type);
      for (std::size_t offset : fold.destinations) {
        std::byte* const a = expected.data() + offset;
        std::byte* const b = got.data() + offset;
        if (testing::is_copy(what.variant, what.k)) {
          EXPECT_EQ(std::memcmp(a, b, bytes), 0) << describe(what);
        }
        EXPECT_EQ(testing::first_difference(what.type, a, b, what.elements), what.elements)
            << describe(what);
        std::memset(a, 0, bytes);
        std::memset(b, 0, bytes);
      }
    }
    EXPECT_TRUE(got == expected) << "bytes outside the destinations changed";
  }

  std::size_t most_bytes_;
  std::size_t compared_ = 0;
  std::vector<std::byte> memory_;
  std::vector<Placed> folds_;
};

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Control::present()) {
      // Thousands of folds in one stream: their order is no question, and takes long to check.
      auto configuration = Control::environment();
      configuration.check = false;
      return Control::reset(configuration);
    }
    try {
      require_devices();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override {
    if (!Control::present()) return;
    for (const auto& report : Control::take_reports()) ADD_FAILURE() << report.text;
    for (const std::string& leak : Control::leaks()) ADD_FAILURE() << "left behind: " << leak;
  }
};

class FoldOnDeviceOfType : public OnDevice, public ::testing::WithParamInterface<ElementType> {
 protected:
  [[nodiscard]] static std::size_t width() { return size_of(GetParam()); }

  /// 16-byte vectors from the first element on; behind a head of elements; elements only; single
  /// bytes, alike and not.
  [[nodiscard]] static std::vector<Lie> lies() {
    return {{0, 0}, {width(), 0}, {0, width()}, {1, 0}, {1, 3}};
  }
};

TEST_P(FoldOnDeviceOfType, EqualsTheHostInEveryShape) {
  Batch batch;
  for (const Variant& variant : variants()) {
    for (std::size_t k : {1, 2, 3, 4, 8, 17}) {
      for (std::size_t m : {1, 2, 3}) {
        for (std::size_t elements : {1, 15, 64, 387}) {
          for (const Lie& lie : lies()) {
            const Aliasing aliasing[] = {Aliasing::none, Aliasing::first, Aliasing::all,
                                         Aliasing::last};
            // Every aliasing with every lie, though not in every size.
            const auto turn = (k + m + elements + lie.first + lie.step) % 4;
            batch.add({GetParam(), variant, k, m, elements, lie, aliasing[turn]});
          }
        }
      }
    }
  }
  batch.run();
  RecordProperty("compared", static_cast<int>(batch.compared()));
}

TEST_P(FoldOnDeviceOfType, EqualsTheHostWhateverSourceTheDestinationIs) {
  Batch batch;
  for (const Variant& variant : variants())
    for (std::size_t k : {2, 3, 5})
      for (std::size_t m = 1; m <= k; ++m)
        for (Aliasing aliasing : {Aliasing::first, Aliasing::last, Aliasing::all})
          for (const Lie& lie : lies()) batch.add({GetParam(), variant, k, m, 201, lie, aliasing});
  batch.run();
}

TEST_P(FoldOnDeviceOfType, EqualsTheHostForEveryLengthOfAFewVectorsFromEveryPlace) {
  Batch batch;
  for (std::size_t elements = 0; elements <= 3 * 16 / width() + 1; ++elements)
    for (std::size_t first = 0; first < 16; ++first)
      for (std::size_t k : {1, 2})
        batch.add({GetParam(), variants().front(), k, 1, elements, {first, 0}, Aliasing::none});
  batch.run();
}

TEST_P(FoldOnDeviceOfType, EqualsTheHostWhereVeryManyAreFolded) {
  Batch batch;
  for (const Variant& variant : variants())
    for (std::size_t k : {63, 64, 65, 256, 478})
      for (const Lie& lie : lies()) batch.add({GetParam(), variant, k, 2, 37, lie, Aliasing::last});
  for (const Lie& lie : lies())
    batch.add({GetParam(), variants().front(), 1, most_fold_operands - 1, 37, lie});
  batch.run();
}

TEST_P(FoldOnDeviceOfType, EqualsTheHostWhereRunsAreLongEnoughForTiles) {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
        "cudaDeviceGetAttribute", 0);
  // Some more than four 16-byte vectors for each of four blocks of each multiprocessor.
  const std::size_t bytes =
      static_cast<std::size_t>(multiprocessors) * 4 * fold_threads * 64 + 9000;
  Batch batch(std::size_t{256} << 20);
  for (std::size_t k : {1, 3}) {
    batch.add({GetParam(), variants().front(), k, 1, bytes / width() + 3, {width(), 0}});
    batch.add({GetParam(), variants().front(), k, 1, bytes / width() / 4, {0, width()}});
  }
  batch.run();
}

INSTANTIATE_TEST_SUITE_P(AllTypes, FoldOnDeviceOfType, ::testing::ValuesIn(all_element_types),
                         [](const auto& type) { return std::string(to_string(type.param)); });

class FoldOnDevice : public OnDevice {};

/// All patterns of a narrow type, `turn` times another one apart.
std::vector<std::byte> all_patterns(ElementType type, std::size_t elements, std::uint64_t factor) {
  const std::size_t width = size_of(type);
  std::vector<std::byte> result(elements * width);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = i * factor;
    std::memcpy(result.data() + i * width, &bits, width);
  }
  return result;
}

TEST_F(FoldOnDevice, WidensAndNarrowsEveryPatternAsTheHost) {
  Batch batch(std::size_t{64} << 20);
  const Variant scaled{.name = "scaled", .op = ReduceOp::premul_sum, .all_raw = true};
  for (ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float8_e4m3,
                           ElementType::float8_e5m2})
    for (double scalar : {1.0, 0.1, -3.7, 0x1p-14, 0x1p-20, 0x1p12, 1e30, 1e-30})
      batch.add({type, scaled, 1, 1, 65536, {}, Aliasing::none, scalar},
                all_patterns(type, 65536, 1));
  batch.run();
}

TEST_F(FoldOnDevice, FoldsEveryPairOfEightBitFloatsAsTheHost) {
  Batch batch(std::size_t{64} << 20);
  for (ElementType type : {ElementType::float8_e4m3, ElementType::float8_e5m2}) {
    std::vector<std::byte> rows = all_patterns(type, 65536, 1);
    for (std::size_t i = 0; i < 65536; ++i) rows.push_back(static_cast<std::byte>(i >> 8));
    for (const Variant& variant : variants()) batch.add({type, variant, 2, 1, 65536, {}}, rows);
  }
  batch.run();
}

TEST_F(FoldOnDevice, FoldsPairsOfSixteenBitFloatsAsTheHost) {
  Batch batch(std::size_t{64} << 20);
  for (ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    for (std::uint64_t factor : {3, 257, 40503, 65535}) {
      std::vector<std::byte> rows = all_patterns(type, 65536, 1);
      const std::vector<std::byte> others = all_patterns(type, 65536, factor);
      rows.insert(rows.end(), others.begin(), others.end());
      for (const Variant& variant : variants()) batch.add({type, variant, 2, 1, 65536, {}}, rows);
    }
  }
  batch.run();
}

TEST_F(FoldOnDevice, ScalesIntegersByScalarsOutsideTheirRange) {
  Batch batch;
  const Variant scaled{.name = "scaled", .op = ReduceOp::premul_sum, .all_raw = true};
  for (ElementType type : all_element_types)
    for (double scalar : {-2.9, 1e10, -1e30, 1e30, 0.0 / 0.0})
      batch.add({type, scaled, 2, 1, 99, {}, Aliasing::none, scalar});
  batch.run();
}

TEST_F(FoldOnDevice, RefusesMoreOperandsThanOneLaunchTakes) {
  for (const auto& [k, m] : {std::pair<std::size_t, std::size_t>{most_fold_operands, 1},
                             {1, most_fold_operands},
                             {~std::size_t{0}, 2}}) {
    try {
      (void)resolve_device_fold({.k = k, .m = m});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }
  EXPECT_THROW((void)resolve_device_fold({.k = 0}), Error);
  EXPECT_THROW((void)resolve_device_fold({.m = 0}), Error);
  EXPECT_THROW((void)resolve_device_fold({.op = ReduceOp::avg, .completes = true, .ranks = 0}),
               Error);
}

TEST_F(FoldOnDevice, ReturnsWhatTheRuntimeAnswersAndLaunchesNothingForNoElements) {
  if (!Control::present()) return;  // needs the test double; no skip, which ctest takes for all
  const auto memory = DeviceMemory::on(0, 64);
  const std::byte* const sources[] = {memory.data(), memory.data()};
  std::byte* const destinations[] = {memory.data()};
  const auto fold = resolve_device_fold({.k = 2});
  EXPECT_EQ(fold.launch(sources, destinations, 0, nullptr), cudaSuccess);
  EXPECT_EQ(Control::counters().kernels, 0U);
  EXPECT_EQ(fold.launch(sources, destinations, 16, nullptr), cudaSuccess);
  EXPECT_EQ(Control::counters().kernels, 1U);
  for (std::uint64_t call : {1, 2}) {  // asks for the device, launches
    Control::fail_call(Control::calls() + call, cudaErrorLaunchOutOfResources);
    EXPECT_EQ(fold.launch(sources, destinations, 16, nullptr), cudaErrorLaunchOutOfResources);
    (void)cudaGetLastError();
  }
  EXPECT_EQ(Control::counters().kernels, 1U);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(FoldOnDevice, IsTheSameAsANodeOfAGraph) {
  constexpr std::size_t elements = 1000;
  const auto stream = Stream::on(0);
  const auto in = DeviceMemory::on(0, 3 * elements * sizeof(float));
  const auto launched = DeviceMemory::on(0, elements * sizeof(float));
  const auto by_graph = DeviceMemory::on(0, elements * sizeof(float));
  std::vector<float> values(3 * elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0F / static_cast<float>(i + 1);
  ASSERT_EQ(cudaMemcpyAsync(in.data(), values.data(), in.size(), cudaMemcpyDefault, stream.get()),
            cudaSuccess);
  const std::byte* const sources[] = {in.data(), in.data() + elements * sizeof(float),
                                      in.data() + 2 * elements * sizeof(float)};
  const auto fold = resolve_device_fold({.k = 3, .type = ElementType::float32});
  std::byte* const direct[] = {launched.data()};
  std::byte* const indirect[] = {by_graph.data()};
  ASSERT_EQ(fold.launch(sources, direct, elements, stream.get()), cudaSuccess);

  cudaGraph_t made = nullptr;
  ASSERT_EQ(cudaGraphCreate(&made, 0), cudaSuccess);
  const Graph graph(made, 0);
  cudaGraphNode_t first = nullptr, node = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&first, made, nullptr, 0), cudaSuccess);
  ASSERT_EQ(fold.add_node(made, &first, 1, sources, indirect, elements, &node), cudaSuccess);
  EXPECT_NE(node, nullptr);
  EXPECT_EQ(fold.add_node(made, nullptr, 0, sources, indirect, 0, &node), cudaErrorInvalidValue);
  cudaGraphExec_t instance = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&instance, made, 0), cudaSuccess);
  const GraphExec executable(instance, 0);
  ASSERT_EQ(cudaGraphLaunch(instance, stream.get()), cudaSuccess);
  std::vector<float> expected(elements), got(elements);
  for (auto [to, from] : {std::pair{&expected, &launched}, std::pair{&got, &by_graph}})
    ASSERT_EQ(
        cudaMemcpyAsync(to->data(), from->data(), from->size(), cudaMemcpyDefault, stream.get()),
        cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(got, expected);
}

TEST_F(FoldOnDevice, SpinsForAWhile) {
  const auto stream = Stream::on(0);
  ASSERT_EQ(launch_spin(1000, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

}  // namespace
}  // namespace ringside::cuda
