// SPDX-License-Identifier: MIT
/// Any text as JSON: refused with one line, or everything in it can be walked and named.
#include "ringside/base/json.hpp"

#include <string_view>

#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

template <class Function>
void try_reading(Function function) try {
  function();
} catch (const Error& error) {
  require(error.code() == ErrorCode::bad_input, "what cannot be read is bad input");
  require(std::string_view(error.what()).find('\n') == std::string_view::npos,
          "a message is one line");
}

void walk(const JsonValue& value) {
  require(value.path().starts_with("$"), "every value has a path");
  try_reading([&] { (void)value.integer(0, 7); });
  try_reading([&] { (void)value.number(); });
  try_reading([&] { (void)value.choice({"ring", "chain"}); });
  try_reading([&] { value.only({"ops", "rank"}); });
  if (value.is_array()) {
    require(value.items().size() == value.size(), "an array has as many elements as it says");
    for (const JsonValue item : value.items()) walk(item);
  } else if (value.is_object()) {
    for (const auto& [key, field] : value.fields()) {
      require(value[key].path() == field.path(), "a field is found by its name");
      walk(field);
    }
  }
}

}  // namespace

void run(std::string_view input) {
  const JsonLimits limits{.bytes = 10'000, .depth = 8, .values = 100};
  try_reading([&] {
    const JsonDocument document(input, "input", limits);
    walk(document.root());
  });
}

}  // namespace ringside::fuzz
