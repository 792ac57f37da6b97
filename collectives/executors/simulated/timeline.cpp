// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/timeline.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/json_write.hpp"

namespace ringside {
namespace {

constexpr double us = 1e6;

/// Threads of a process need numbers of their own, also where several ranks share a GPU.
int thread_of(int rank, int lane) { return rank * most_lanes + lane; }

Json name_event(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json span_event(const std::string& name, const char* category, int process, int thread,
                double begin, double end) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"ts", begin * us},
          {"dur", (end - begin) * us},
          {"pid", process},
          {"tid", thread}};
}

/// An event a line: such a file can be looked at and cut.
class Writer {
 public:
  void add(const Json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event.dump();
  }
  [[nodiscard]] std::string finish(const std::string& title) {
    const Json about = {{"simulated", title}};
    return fmt::format(
        "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n",
        about.dump(), text_);
  }

 private:
  std::string text_;
};

}  // namespace

std::string chrome_trace(const Simulation& simulation, const Machine& machine,
                         std::span<const int> gpus, const std::string& title) {
  if (simulation.timeline.empty() && simulation.ops > 0)
    throw Error(ErrorCode::invalid_argument, "the simulation kept no timeline");
  const auto nodes = machine.topology().gpus();
  Writer writer;
  std::set<std::pair<int, int>> named;
  const auto name_once = [&](int process, int thread, const char* what, const std::string& name) {
    if (named.insert({process, thread}).second)
      writer.add(name_event(what, process, thread < 0 ? 0 : thread, name));
  };
  for (const SimulatedOp& op : simulation.timeline) {
    const int gpu = gpus[static_cast<std::size_t>(op.rank)];
    const int thread = thread_of(op.rank, op.lane);
    name_once(gpu, -1, "process_name",
              machine.topology().node(nodes[static_cast<std::size_t>(gpu)]).name);
    name_once(gpu, thread, "thread_name", fmt::format("rank {}, lane {}", op.rank, op.lane));
    if (op.begin > op.ready)
      writer.add(span_event("issue", "issue", gpu, thread, op.ready, op.begin));
    Json transfer = span_event(op.what, "transfer", gpu, thread, op.begin, op.end);
    transfer["args"] = {{"op", op.op}, {"slice", op.slice}, {"bytes", op.bytes}};
    writer.add(transfer);
  }
  return writer.finish(title);
}

}  // namespace ringside
