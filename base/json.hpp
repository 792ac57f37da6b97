// SPDX-License-Identifier: MIT
/// Reading JSON that somebody else wrote: with limits, and with errors that say where.
///
///     const JsonDocument file(read_file(path), "plan.json");
///     const JsonValue plan = file.root();
///     const int ranks = plan["ranks"].integer(1, 4096);
///     for (const JsonValue op : plan["ops"].items()) ... op["rank"].integer(0, ranks - 1) ...
///     // Error: plan.json: $.ops[3].rank: expected an integer 0..7, got 9
///
/// Every error is an `Error` (bad_input) with one line. This header does not need the JSON library;
/// to write JSON, see json_write.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside {

class JsonDocument;

/// What a document may cost. A value takes 16 bytes in memory, a string or field 50 to 100 and its
/// text.
struct JsonLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t depth = 64;           ///< nested arrays and objects
  std::size_t values = 20'000'000;  ///< numbers, strings, ... and containers
};

/// A value of a document, with its path. Cheap to copy; must not outlive the document.
class JsonValue {
 public:
  /// "$.ops[3].rank"
  [[nodiscard]] std::string path() const;

  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_null() const;

  /// The typed value; anything else is an error. An integer is one that is written without fraction
  /// and exponent; a number is finite.
  [[nodiscard]] std::int64_t integer(
      std::int64_t minimum = std::numeric_limits<std::int64_t>::min(),
      std::int64_t maximum = std::numeric_limits<std::int64_t>::max()) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& text() const;

  /// The index of the text among the words allowed.
  [[nodiscard]] std::size_t choice(std::initializer_list<std::string_view> words) const;

  /// A field of an object: required, or empty when it is absent.
  [[nodiscard]] JsonValue operator[](std::string_view key) const;
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;

  /// The elements of an array, or (name, value) of an object in the order of the names.
  [[nodiscard]] std::vector<JsonValue> items() const;
  [[nodiscard]] std::vector<std::pair<std::string_view, JsonValue>> fields() const;

  /// The number of elements of an array, which must lie in the range.
  [[nodiscard]] std::size_t size(
      std::size_t minimum = 0, std::size_t maximum = std::numeric_limits<std::size_t>::max()) const;

  /// Refuses fields of an object other than these: a misspelt optional field would go unnoticed.
  void only(std::initializer_list<std::string_view> keys) const;

  /// Throws bad_input: "<document>: <path>: <message>".
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class JsonDocument;
  struct Access;
  friend struct Access;

  /// The path is worded only when it is asked for, by looking for the node from the root: reading
  /// a large array costs no text per element.
  JsonValue(const void* node, const JsonDocument* document) : node_(node), document_(document) {}

  const void* node_;  // a value of the JSON library, which this header hides
  const JsonDocument* document_;
};

/// A parsed document. Owns what its values point to; does not move, because they point at it too.
class JsonDocument {
 public:
  /// Parses the whole text. `name` says in messages whose text it is ("plan.json"). Refused are
  /// syntax errors, invalid UTF-8, the same key twice in an object, numbers out of a double's
  /// range, and whatever exceeds the limits.
  explicit JsonDocument(std::string_view text, std::string name, const JsonLimits& limits = {});
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();

  [[nodiscard]] JsonValue root() const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Tree;
  std::string name_;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace ringside
