// SPDX-License-Identifier: MIT
/// No foreign text becomes markup, neither in elements nor in scripts.
#include "ringside/tools/report/html.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ringside::tests {
namespace {

TEST(Html, ForeignTextIsNoMarkup) {
  EXPECT_EQ(report::escaped("<b onclick=\"x('y')\">&amp;"),
            "&lt;b onclick=&quot;x(&#39;y&#39;)&quot;&gt;&amp;amp;");
  EXPECT_EQ(report::escaped(std::string("a\0b\x1b[1mc", 8)), "a b [1mc");
}

TEST(Html, JsonInAScriptElementCannotEndIt) {
  const std::string name = "</script><script>alert(1)</script><!-- ]]> & \u2028 \u2029 \\u003c \"";
  const std::string json = nlohmann::json{{"name", name}}.dump();
  const std::string safe = report::script_json(json);
  for (const char* part : {"<", ">", "&", "\u2028", "\u2029"})
    EXPECT_EQ(safe.find(part), std::string::npos) << part;
  EXPECT_EQ(nlohmann::json::parse(safe).at("name"), name);
}

TEST(Html, ScriptsAreAllowedByTheirHash) {
  // Of the empty text: RFC 4634's value, in base 64.
  EXPECT_EQ(report::script_hash("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

}  // namespace
}  // namespace ringside::tests
