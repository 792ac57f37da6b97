// SPDX-License-Identifier: MIT
/// Any evidence, cut and mixed: texts between lines of "====" are files. It is refused with one
/// line, or judged by all rules, whose findings show lines that are in the texts.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/tests/fuzz/require.hpp"
#include "ringside/topology/diagnose/diagnose.hpp"

namespace ringside::fuzz {
namespace {

constexpr std::size_t most_bytes = 100'000;  // small inputs find more than large ones do

std::vector<EvidenceText> files_in(std::string_view input) {
  constexpr std::string_view between = "\n====\n";
  std::vector<EvidenceText> files;
  for (;;) {
    const auto at = input.find(between);
    files.push_back({"file" + std::to_string(files.size()), std::string(input.substr(0, at))});
    if (at == std::string_view::npos) return files;
    input.remove_prefix(at + between.size());
  }
}

void check(const Evidence& evidence, const Diagnosis& diagnosis) {
  require(!diagnosis.id.empty() && !diagnosis.title.empty(), "a finding has a name");
  require(!diagnosis.why.empty() && !diagnosis.fix.empty(), "a finding has reason and cure");
  require(diagnosis.certainty == Certainty::certain || !diagnosis.confirm.empty(),
          "what is not certain has a check");
  for (const auto& line : diagnosis.shown)
    require(evidence.line(line.source, line.number) == line, "a line that is shown is in the text");
}

}  // namespace

void run(std::string_view input) {
  const auto evidence = read_evidence(files_in(input.substr(0, most_bytes)));
  for (const auto& source : evidence.sources)
    require(source.unknown <= source.lines, "lines are counted once");
  for (const auto& diagnosis : diagnose(evidence).found) check(evidence, diagnosis);
}

}  // namespace ringside::fuzz
