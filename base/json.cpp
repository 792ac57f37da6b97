// SPDX-License-Identifier: MIT
/// The suspicious reader, over nlohmann-json.
#include "ringside/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {

namespace {

// Not ordered_json: its objects are searched linearly, so a hostile object costs its square.
using Node = nlohmann::json;

/// Follows the parser and stops it where a limit is passed or a key repeats.
class Watch {
 public:
  Watch(const std::string& name, const JsonLimits& limits) : name_(name), limits_(limits) {}

  bool operator()(int depth, Node::parse_event_t event, const Node& parsed) {
    switch (event) {
      case Node::parse_event_t::object_start:
        keys_.emplace_back();
        count_container(depth);
        break;
      case Node::parse_event_t::object_end:
        keys_.pop_back();
        break;
      case Node::parse_event_t::array_start:
        count_container(depth);
        break;
      case Node::parse_event_t::array_end:
        break;
      case Node::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys_.back().insert(key).second)
          refuse(fmt::format("the field {} appears twice in one object", quote(key)));
        break;
      }
      case Node::parse_event_t::value:
        count_value();
        break;
    }
    return true;
  }

 private:
  void count_container(int depth) {
    if (static_cast<std::size_t>(depth) >= limits_.depth)
      refuse(fmt::format("more than {} nested arrays and objects", limits_.depth));
    count_value();
  }
  void count_value() {
    if (++values_ > limits_.values) refuse(fmt::format("more than {} values", limits_.values));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, why));
  }

  const std::string& name_;
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects now open
};

/// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ..." without
/// the identifier, on one line.
std::string reason(const Node::exception& error) {
  std::string text = error.what();
  if (const auto end = text.find("] "); text.starts_with('[') && end != std::string::npos)
    text.erase(0, end + 2);
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  constexpr std::size_t longest = 300;  // the message quotes the last token, however long
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

std::string_view kind(const Node& node) {
  switch (node.type()) {
    case Node::value_t::null:
      return "null";
    case Node::value_t::object:
      return "an object";
    case Node::value_t::array:
      return "an array";
    case Node::value_t::string:
      return "a text";
    case Node::value_t::boolean:
      return "true or false";
    default:
      return "a number";
  }
}

/// What was found, for the end of "expected ..., got ...": short values as they are.
std::string found(const Node& node) {
  if (node.is_string()) return quote(node.get_ref<const std::string&>());
  if (node.is_number() || node.is_boolean()) return node.dump();
  return std::string(kind(node));
}

std::string step(std::string_view key) {
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain ? fmt::format(".{}", key) : fmt::format("[{}]", quote(key));
}

/// Appends the steps from `from` to `wanted`; false when it is not below. As deep as the document,
/// which was limited.
bool trace(const Node& from, const Node* wanted, std::string& path) {
  if (&from == wanted) return true;
  const std::size_t length = path.size();
  if (from.is_object()) {
    for (const auto& [key, child] : from.items()) {
      path += step(key);
      if (trace(child, wanted, path)) return true;
      path.resize(length);
    }
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Node& child = from[i];
      // Most elements are scalars that are not it: no text for them.
      if (&child != wanted && !child.is_structured()) continue;
      path += fmt::format("[{}]", i);
      if (trace(child, wanted, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

struct JsonDocument::Tree {
  Node root;
};

struct JsonValue::Access {
  static const Node& node(const JsonValue& value) { return *static_cast<const Node*>(value.node_); }

  [[noreturn]] static void fail_expected(const JsonValue& value, const std::string& what) {
    value.fail(fmt::format("expected {}, got {}", what, found(node(value))));
  }
};

JsonDocument::JsonDocument(std::string_view text, std::string name, const JsonLimits& limits)
    : name_(std::move(name)) {
  if (text.size() > limits.bytes)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: larger than the limit of {}", name_, format_bytes(limits.bytes)));
  try {
    Watch watch(name_, limits);
    tree_ = std::make_unique<const Tree>(Tree{Node::parse(text, std::ref(watch))});
  } catch (const Node::exception& error) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, reason(error)));
  }
}

JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return {&tree_->root, this}; }

std::string JsonValue::path() const {
  std::string path = "$";
  const JsonValue root = document_->root();
  trace(Access::node(root), &Access::node(*this), path);
  return path;
}

bool JsonValue::is_object() const { return Access::node(*this).is_object(); }
bool JsonValue::is_array() const { return Access::node(*this).is_array(); }
bool JsonValue::is_string() const { return Access::node(*this).is_string(); }
bool JsonValue::is_number() const { return Access::node(*this).is_number(); }
bool JsonValue::is_null() const { return Access::node(*this).is_null(); }

std::int64_t JsonValue::integer(std::int64_t minimum, std::int64_t maximum) const {
  const Node& node = Access::node(*this);
  // A number above the largest int64 is kept as unsigned; its conversion would wrap.
  const bool fits = node.is_number_integer() &&
                    (!node.is_number_unsigned() ||
                     node.get<std::uint64_t>() <=
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (fits) {
    const auto value = node.get<std::int64_t>();
    if (value >= minimum && value <= maximum) return value;
  }
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  std::string what = "an integer";
  if (minimum != lowest && maximum != highest) {
    what += fmt::format(" {}..{}", minimum, maximum);
  } else if (minimum != lowest) {
    what += fmt::format(" of {} or more", minimum);
  } else if (maximum != highest) {
    what += fmt::format(" of {} or less", maximum);
  }
  Access::fail_expected(*this, what);
}

double JsonValue::number() const {
  const Node& node = Access::node(*this);
  if (!node.is_number()) Access::fail_expected(*this, "a number");
  return node.get<double>();
}

bool JsonValue::boolean() const {
  const Node& node = Access::node(*this);
  if (!node.is_boolean()) Access::fail_expected(*this, "true or false");
  return node.get<bool>();
}

const std::string& JsonValue::text() const {
  const Node& node = Access::node(*this);
  if (!node.is_string()) Access::fail_expected(*this, "a text");
  return node.get_ref<const std::string&>();
}

std::size_t JsonValue::choice(std::initializer_list<std::string_view> words) const {
  const std::string_view word = text();
  const auto* match = std::find(words.begin(), words.end(), word);
  if (match != words.end()) return static_cast<std::size_t>(match - words.begin());
  const std::vector<std::string_view> candidates(words);
  fail(fmt::format("expected one of {}, got {}{}", join(candidates, ", "), quote(word),
                   did_you_mean(word, candidates)));
}

JsonValue JsonValue::operator[](std::string_view key) const {
  const auto field = find(key);
  if (!field) fail(fmt::format("the field {} is missing", quote(key)));
  return *field;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  const Node& node = Access::node(*this);
  if (!node.is_object()) Access::fail_expected(*this, "an object");
  const auto field = node.find(key);
  if (field == node.end()) return std::nullopt;
  return JsonValue(&*field, document_);
}

std::vector<JsonValue> JsonValue::items() const {
  const Node& node = Access::node(*this);
  if (!node.is_array()) Access::fail_expected(*this, "an array");
  std::vector<JsonValue> elements;
  elements.reserve(node.size());
  for (const Node& element : node) elements.push_back(JsonValue(&element, document_));
  return elements;
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::fields() const {
  const Node& node = Access::node(*this);
  if (!node.is_object()) Access::fail_expected(*this, "an object");
  std::vector<std::pair<std::string_view, JsonValue>> fields;
  fields.reserve(node.size());
  for (const auto& [key, value] : node.get_ref<const Node::object_t&>())
    fields.emplace_back(key, JsonValue(&value, document_));
  return fields;
}

std::size_t JsonValue::size(std::size_t minimum, std::size_t maximum) const {
  const Node& node = Access::node(*this);
  if (!node.is_array()) Access::fail_expected(*this, "an array");
  if (node.size() >= minimum && node.size() <= maximum) return node.size();
  const std::string range = minimum == maximum ? fmt::format("{}", minimum)
                            : maximum == std::numeric_limits<std::size_t>::max()
                                ? fmt::format("{} or more", minimum)
                                : fmt::format("{}..{}", minimum, maximum);
  fail(fmt::format("expected {} elements, got {}", range, node.size()));
}

void JsonValue::only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : fields()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string_view> candidates(keys);
    fail(fmt::format("unknown field {}{}", quote(key), did_you_mean(key, candidates)));
  }
}

void JsonValue::fail(std::string_view message) const {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}: {}", document_->name(), path(), message));
}

}  // namespace ringside
