// SPDX-License-Identifier: MIT
/// Every build of the fold kernels against the reference fold, bit for bit.
#include "ringside/collectives/reduction/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/reduction/kernels.hpp"
#include "ringside/tests/support/sanitizers.hpp"
#include "samples.hpp"
#include "variants.hpp"

namespace ringside {
namespace {

using testing::Aliasing;
using testing::Variant;
using testing::variants;

struct Shape {
  ElementType type;
  std::size_t k;
  std::size_t m;
  std::size_t elements;
  std::size_t misalignment;  ///< bytes, of every run another multiple
  Aliasing aliasing;
  bool alike = false;  ///< the same distance for all runs instead
};

/// All runs of one fold in one array, with bytes between them that nobody may touch.
class Arena {
 public:
  explicit Arena(const Shape& shape) : shape_(shape), bytes_(shape.elements * size_of(shape.type)) {
    for (std::size_t j = 0; j < shape.k; ++j) sources_.push_back(place());
    for (std::size_t i = 0; i < shape.m; ++i) {
      const bool alias = i < shape.k && (shape.aliasing == Aliasing::all ||
                                         (shape.aliasing == Aliasing::first && i == 0) ||
                                         (shape.aliasing == Aliasing::last && i + 1 == shape.m));
      // Destination i is another source than the i-th, so that order of addresses cannot help.
      destinations_.push_back(alias ? sources_[(i + shape.k - 1) % shape.k] : place());
    }
    initial_.assign(end_, std::byte{0xa5});
    for (std::size_t j = 0; j < shape.k; ++j) {
      const auto values = testing::samples(shape.type, shape.elements, 100 + j);
      std::copy(values.begin(), values.end(),
                initial_.begin() + static_cast<std::ptrdiff_t>(sources_[j]));
    }
  }

  template <class Run>
  [[nodiscard]] std::vector<std::byte> after(const Variant& variant, bool streaming,
                                             Run&& run) const {
    std::vector<std::byte> memory = initial_;
    std::vector<const std::byte*> sources;
    std::vector<std::byte*> destinations;
    for (std::size_t offset : sources_) sources.push_back(memory.data() + offset);
    for (std::size_t offset : destinations_) destinations.push_back(memory.data() + offset);
    run(Fold{.sources = sources,
             .destinations = destinations,
             .elements = shape_.elements,
             .type = shape_.type,
             .op = variant.op,
             .raw_mask = variant.raw_mask,
             .all_raw = variant.all_raw,
             .scalar = 2.75,
             .completes = variant.completes,
             .ranks = variant.ranks,
             .streaming = streaming});
    return memory;
  }

  /// Equal outside the destinations, and inside them up to the kind of NaN (a copy: not even that).
  [[nodiscard]] bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                          bool copied) const {
    if (a == b) return true;
    if (copied) return false;
    std::vector<std::byte> rest_a = a;
    std::vector<std::byte> rest_b = b;
    for (std::size_t offset : destinations_) {
      if (testing::first_difference(shape_.type, a.data() + offset, b.data() + offset,
                                    shape_.elements) != shape_.elements)
        return false;
      std::memset(rest_a.data() + offset, 0, bytes_);
      std::memset(rest_b.data() + offset, 0, bytes_);
    }
    return rest_a == rest_b;
  }

 private:
  std::size_t place() {
    constexpr std::size_t guard = 8;
    const std::size_t aligned = (end_ + guard + 63) / 64 * 64;
    const std::size_t start = aligned + (shape_.alike ? 1 : ++runs_) * shape_.misalignment;
    end_ = start + bytes_ + guard;
    return start;
  }

  Shape shape_;
  std::size_t bytes_;
  std::size_t runs_ = 0;
  std::size_t end_ = 0;
  std::vector<std::size_t> sources_, destinations_;
  std::vector<std::byte> initial_;
};

std::string describe(const Shape& shape, const Variant& variant, std::string_view isa,
                     bool streaming) {
  return std::string(isa) + " " + std::string(to_string(shape.type)) + " " + variant.name +
         " k=" + std::to_string(shape.k) + " m=" + std::to_string(shape.m) +
         " elements=" + std::to_string(shape.elements) + " misaligned by " +
         std::to_string(shape.misalignment) +
         " aliasing=" + std::to_string(static_cast<int>(shape.aliasing)) +
         (streaming ? " streaming" : "");
}

/// All builds, all variants; returns how many folds were compared.
std::size_t expect_reference(const Shape& shape, bool streaming) {
  const Arena arena(shape);
  std::size_t compared = 0;
  for (const Variant& variant : variants()) {
    const auto expected =
        arena.after(variant, false, [](const Fold& fold) { reference_fold(fold); });
    for (std::string_view isa : available_fold_isas()) {
      const auto got =
          arena.after(variant, streaming, [isa](const Fold& fold) { fold_with(isa, fold); });
      EXPECT_TRUE(arena.same(expected, got, is_copy(variant, shape.k)))
          << describe(shape, variant, isa, streaming);
      ++compared;
    }
  }
  return compared;
}

/// One destination, which is the source at `place`.
void expect_in_place_of(ElementType type, std::size_t k, std::size_t place, std::size_t elements,
                        bool streaming) {
  const std::size_t bytes = elements * size_of(type);
  const auto folded = [&](auto&& run) {
    std::vector<std::vector<std::byte>> rows;
    std::vector<const std::byte*> sources;
    for (std::size_t j = 0; j < k; ++j) rows.push_back(testing::samples(type, elements, 300 + j));
    for (const auto& row : rows) sources.push_back(row.data());
    std::byte* const destination = rows[place].data();
    run(Fold{.sources = sources,
             .destinations = {&destination, 1},
             .elements = elements,
             .type = type,
             .streaming = streaming});
    std::vector<std::byte> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  const auto expected = folded([](const Fold& fold) { reference_fold(fold); });
  for (std::string_view isa : available_fold_isas()) {
    const auto got = folded([isa](const Fold& fold) { fold_with(isa, fold); });
    EXPECT_EQ(testing::first_difference(type, expected.data(), got.data(), k * elements),
              k * elements)
        << isa << " " << to_string(type) << " k=" << k << " place=" << place << " bytes=" << bytes;
  }
}

std::vector<std::size_t> destination_counts(std::size_t k) {
  std::vector<std::size_t> counts = {1, 2};
  if (k > 2) counts.push_back(3);
  if (k > 3) counts.push_back(k);
  return counts;
}

/// The thread sanitizer is slow on every access and has nothing to find in one thread: a few
/// shapes.
std::vector<std::size_t> source_counts(std::vector<std::size_t> all) {
  if (tests::thread_sanitizer)
    std::erase_if(all, [](std::size_t k) { return k != 1 && k != 2 && k != 5; });
  return all;
}

class FoldOfType : public ::testing::TestWithParam<ElementType> {};

TEST_P(FoldOfType, EqualsTheReferenceInEveryShape) {
  std::size_t compared = 0;
  for (std::size_t k : source_counts({1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17})) {
    for (std::size_t m : destination_counts(k)) {
      for (std::size_t elements : {0, 1, 7, 63, 64, 1001}) {
        for (std::size_t misalignment : {0, 1}) {
          for (Aliasing aliasing : {Aliasing::none, Aliasing::first, Aliasing::all}) {
            if (aliasing == Aliasing::all && m == 1) continue;  // is Aliasing::first
            // Long runs take most of the time: half of these combinations.
            if (elements > 100 && (misalignment == 1) != (aliasing == Aliasing::first)) continue;
            // Too short to stream, so that the mark is seen to do nothing; or long, without it.
            compared += expect_reference({GetParam(), k, m, elements, misalignment, aliasing},
                                         elements % 2 == 1 && elements < 100);
          }
        }
      }
      if (HasFailure()) return;
    }
  }
  RecordProperty("compared", static_cast<int>(compared));
}

TEST_P(FoldOfType, StreamsTheSameBits) {
  const std::size_t elements = streaming_threshold_bytes / size_of(GetParam()) + 41;
  for (std::size_t k : source_counts({1, 2, 5, 8})) {
    for (std::size_t m : destination_counts(k)) {
      for (std::size_t misalignment : {std::size_t{0}, std::size_t{1}, size_of(GetParam())}) {
        for (Aliasing aliasing : {Aliasing::none, Aliasing::first, Aliasing::all}) {
          if (aliasing == Aliasing::all && (m == 1 || misalignment != 0)) continue;
          expect_reference({GetParam(), k, m, elements, misalignment, aliasing}, true);
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(FoldOfType, StreamsTheSameBitsFromWithinALine) {
  const std::size_t elements = streaming_threshold_bytes / size_of(GetParam()) + 41;
  for (std::size_t k : source_counts({2, 3, 5}))
    for (std::size_t m : destination_counts(k))
      for (std::size_t misalignment : {std::size_t{1}, size_of(GetParam()), std::size_t{24}})
        for (Aliasing aliasing : {Aliasing::none, Aliasing::last})
          expect_reference({GetParam(), k, m, elements, misalignment, aliasing, true}, true);
}

TEST_P(FoldOfType, EqualsTheReferenceWhereVeryManyAreFolded) {
  for (std::size_t k : source_counts({63, 64, 65, 256}))
    for (std::size_t elements : {1, 37})
      expect_reference({GetParam(), k, 2, elements, 0, Aliasing::last}, false);
}

TEST_P(FoldOfType, EqualsTheReferenceWhateverSourceTheDestinationIs) {
  for (std::size_t k : source_counts({2, 4, 8}))
    for (std::size_t place = 0; place < k; ++place)
      for (bool streaming : {false, true}) {
        const std::size_t elements = streaming_threshold_bytes / size_of(GetParam()) + 3;
        expect_in_place_of(GetParam(), k, place, streaming ? elements : 77, streaming);
      }
}

TEST_P(FoldOfType, EqualsTheReferenceForEveryLengthOfAFewVectors) {
  for (std::size_t elements = 0;
       elements <= 2 * 64 / std::min<std::size_t>(4, size_of(GetParam())) + 1; ++elements)
    expect_reference({GetParam(), 3, 1, elements, 1, Aliasing::first}, false);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, FoldOfType, ::testing::ValuesIn(all_element_types),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST(Fold, WithManySourcesScalesThoseBeyondTheMaskOnlyIfAllAreRaw) {
  const Shape shape{ElementType::int32, 70, 1, 9, 0, Aliasing::none};
  expect_reference(shape, false);
}

TEST(Fold, UsesTheBestBuildOfTheMachine) {
  ASSERT_FALSE(available_fold_isas().empty());
  EXPECT_EQ(fold_isa(), available_fold_isas().front());
  EXPECT_EQ(available_fold_isas().back(), "baseline");
  const Arena arena({ElementType::bfloat16, 3, 2, 77, 0, Aliasing::first});
  const Variant& sum = variants().front();
  EXPECT_EQ(arena.after(sum, false, [](const Fold& call) { fold(call); }),
            arena.after(sum, false, [](const Fold& call) { fold_with(fold_isa(), call); }));
}

TEST(ResolvedFold, ServesRunsOfAnyLengthAndPlace) {
  for (std::string_view isa : available_fold_isas()) {
    for (bool streaming : {false, true}) {
      const auto kernel = resolve_fold_with(isa, {.k = 3,
                                                  .m = 2,
                                                  .type = ElementType::float16,
                                                  .op = ReduceOp::premul_sum,
                                                  .raw_mask = 0b101,
                                                  .scalar = 2.75,
                                                  .streaming = streaming});
      for (std::size_t elements : {0, 1, 5, 300, 9000}) {
        const Arena arena({ElementType::float16, 3, 2, elements, 2, Aliasing::first});
        const Variant variant{.name = "", .op = ReduceOp::premul_sum, .raw_mask = 0b101};
        const auto expected =
            arena.after(variant, false, [](const Fold& fold) { reference_fold(fold); });
        const auto got = arena.after(variant, false, [&](const Fold& fold) {
          kernel(fold.sources.data(), fold.destinations.data(), fold.elements);
        });
        EXPECT_TRUE(arena.same(expected, got, false)) << isa << " " << elements;
      }
    }
  }
}

TEST(ResolvedFold, IsWhatFoldDoes) {
  const float a = 3;
  const float b = 4;
  float result = 0;
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(&a),
                                      reinterpret_cast<const std::byte*>(&b)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(&result)};
  resolve_fold({.k = 2, .op = ReduceOp::avg, .completes = true, .ranks = 2})(sources, destinations,
                                                                             1);
  EXPECT_EQ(result, 3.5F);
  EXPECT_THROW((void)resolve_fold({.k = 0}), Error);
  EXPECT_THROW((void)resolve_fold({.m = 0}), Error);
  EXPECT_THROW((void)resolve_fold({.op = ReduceOp::avg, .completes = true, .ranks = 0}), Error);
}

TEST(Fold, RefusesABuildThatThisMachineDoesNotHave) {
  try {
    fold_with("abacus", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos) << error.what();
  }
}

TEST(Fold, RefusesWhatHasNoMeaning) {
  float value = 1;
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(&value)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(&value)};
  EXPECT_THROW(fold({.sources = {}, .destinations = destinations, .elements = 1}), Error);
  EXPECT_THROW(fold({.sources = sources, .destinations = {}, .elements = 1}), Error);
  Fold average{.sources = sources, .destinations = destinations, .elements = 1};
  average.op = ReduceOp::avg;
  average.completes = true;
  average.ranks = 0;
  EXPECT_THROW(fold(average), Error);
}

}  // namespace
}  // namespace ringside
