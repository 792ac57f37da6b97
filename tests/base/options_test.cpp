// SPDX-License-Identifier: MIT
/// Options: precedence, refusals, and that the table is consistent with itself.
#include "ringside/base/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside {
namespace {

/// A variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

/// The registry as it is without anybody's settings.
class Options : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& row : option_rows()) {
      unsetenv(row.variable.c_str());
      reset_option(row.name);
    }
  }
};

TEST_F(Options, DefaultsHoldWhenNothingIsSet) {
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(300));
  EXPECT_EQ(option<Seconds>("sleep_after"), Seconds(100e-6));
  EXPECT_EQ(option<std::optional<std::int64_t>>("spin"), std::nullopt);
  EXPECT_EQ(option<std::string>("isa"), "auto");
}

TEST_F(Options, EveryRowReadsItsOwnDefaultAndNamesAreUnique) {
  std::set<std::string> variables;
  for (const auto& row : option_rows()) {
    EXPECT_EQ(row.error, "") << row.name;
    EXPECT_EQ(row.current, row.default_text) << row.name;
    EXPECT_EQ(row.source, OptionSource::default_value) << row.name;
    EXPECT_FALSE(row.meaning.empty() || row.meaning.ends_with('.')) << row.name;
    EXPECT_TRUE(variables.insert(row.variable).second) << row.variable;
    EXPECT_NO_THROW(ScopedOption(row.name, row.default_text)) << row.name;
  }
}

TEST_F(Options, EnvironmentOverridesTheDefaultAndTheProgramOverridesBoth) {
  const Variable variable("RINGSIDE_TIMEOUT", "5m");
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(300));
  const Variable shorter("RINGSIDE_TIMEOUT", "20ms");
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(0.02));
  set_option("timeout=2");
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(2));
  reset_option("timeout");
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(0.02));
}

TEST_F(Options, AnEmptyVariableCountsAsUnset) {
  const Variable variable("RINGSIDE_ISA", "");
  EXPECT_EQ(option<std::string>("isa"), "auto");
}

TEST_F(Options, ABadVariableIsAnErrorThatNamesIt) {
  const Variable variable("RINGSIDE_ISA", "avx52");
  EXPECT_EQ(tests::bad_input_of([] { (void)option<std::string>("isa"); }),
            "RINGSIDE_ISA: expected a choice (auto|baseline|avx2|avx512), got \"avx52\" (did you "
            "mean \"avx2\"?)");
  const Variable range("RINGSIDE_TIMEOUT", "0");
  EXPECT_EQ(tests::bad_input_of([] { (void)option<Seconds>("timeout"); }),
            "RINGSIDE_TIMEOUT: expected a duration (1ms..10000000s), got \"0\"");
  const Variable graphs("RINGSIDE_CUDA_GRAPHS", "many");
  EXPECT_EQ(tests::bad_input_of([] { (void)option<std::int64_t>("cuda_graphs"); }),
            "RINGSIDE_CUDA_GRAPHS: expected an integer (0..1000000000), got \"many\"");
}

TEST_F(Options, TheProgramCanOverrideABadVariable) {
  const Variable variable("RINGSIDE_SPIN", "many");
  set_option("spin", "12");
  EXPECT_EQ((option<std::optional<std::int64_t>>("spin")), 12);
}

TEST_F(Options, ABadVariableShowsInTheRowsWithoutAnException) {
  const Variable variable("RINGSIDE_SPIN", "-1");
  const auto rows = option_rows();
  const auto row = std::ranges::find(rows, "spin", &OptionRow::name);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->current, "-1");
  EXPECT_EQ(row->source, OptionSource::environment);
  EXPECT_EQ(row->error, "RINGSIDE_SPIN: expected a count (auto|0..1000000000), got \"-1\"");
}

TEST_F(Options, SettingRefusesUnknownNamesAndBadValuesAndChangesNothing) {
  EXPECT_EQ(tests::bad_input_of([] { set_option("timout", "1"); }),
            "no option is named \"timout\" (did you mean \"timeout\"?)");
  EXPECT_EQ(tests::bad_input_of([] { set_option("timeout"); }),
            "an option is set as name=value, got \"timeout\"");
  EXPECT_EQ(tests::bad_input_of([] { set_option("timeout=soon"); }),
            "option timeout: expected a duration (1ms..10000000s), got \"soon\"");
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(300));
}

TEST_F(Options, AValueMayContainAnEqualsSign) {
  set_option("algorithm=ring:order=0-1-3-2,slices=8");
  EXPECT_EQ(option<std::string>("algorithm"), "ring:order=0-1-3-2,slices=8");
}

TEST_F(Options, ScopedOptionsNestAndPutBackWhatWasBefore) {
  {
    const ScopedOption outer("timeout", "1");
    {
      const ScopedOption inner("timeout", "2");
      EXPECT_EQ(option<Seconds>("timeout"), Seconds(2));
    }
    EXPECT_EQ(option<Seconds>("timeout"), Seconds(1));
  }
  EXPECT_EQ(option<Seconds>("timeout"), Seconds(300));
}

TEST_F(Options, UnknownVariablesAreReportedWithAGuess) {
  const Variable typo("RINGSIDE_TIMOUT", "1");
  const Variable other("RINGSIDE_QQQQQQQQ", "1");
  const Variable known("RINGSIDE_TIMEOUT", "1");
  const auto unknown = unknown_option_variables();
  const auto find = [&](const std::string& name) {
    return std::ranges::find(unknown, name, &UnknownVariable::variable);
  };
  ASSERT_NE(find("RINGSIDE_TIMOUT"), unknown.end());
  EXPECT_EQ(find("RINGSIDE_TIMOUT")->suggestion, "RINGSIDE_TIMEOUT");
  ASSERT_NE(find("RINGSIDE_QQQQQQQQ"), unknown.end());
  EXPECT_EQ(find("RINGSIDE_QQQQQQQQ")->suggestion, "");
  EXPECT_EQ(find("RINGSIDE_TIMEOUT"), unknown.end());
}

}  // namespace
}  // namespace ringside
