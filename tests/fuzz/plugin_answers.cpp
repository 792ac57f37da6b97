// SPDX-License-Identifier: MIT
/// Any answers of a plug-in: bytes decide what its functions say and what it writes for which
/// request. It is refused, or what it wrote is a plan that everything consumes.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plugin/foreign_algorithm.hpp"
#include "ringside/tests/fuzz/consume_plan.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

/// Numbers from bytes, most of them small; behind the last, zeros.
class Answers {
 public:
  explicit Answers(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    return at_ < bytes_.size() ? static_cast<std::uint8_t>(bytes_[at_++]) : std::uint8_t{0};
  }
  [[nodiscard]] bool more() const { return at_ < bytes_.size(); }

  std::int32_t number() {
    constexpr std::array<std::int32_t, 6> extremes = {-1,
                                                      1025,
                                                      1 << 20,
                                                      std::numeric_limits<std::int32_t>::max(),
                                                      std::numeric_limits<std::int32_t>::min(),
                                                      -1024};
    const std::uint8_t value = byte();
    return value < 250 ? value % 8 : extremes[value - 250U];
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// What `build` goes by: it is called twice, and must read the same.
std::string_view written;

std::vector<ringside_location_v1> locations(Answers& answers, std::size_t count) {
  const std::int32_t chunk = answers.number();
  std::vector<ringside_location_v1> places(count);
  for (auto& place : places)
    place = {answers.number(), answers.byte() % 5, answers.number(), chunk};
  return places;
}

void add_op(Answers& answers, ringside_sink_v1* sink) {
  const std::size_t sources = answers.byte() % 4U, destinations = answers.byte() % 3U;
  const auto from = locations(answers, sources);
  auto to = locations(answers, destinations);
  for (auto& place : to)
    if (!from.empty() && answers.byte() != 255) place.chunk = from.front().chunk;
  const ringside_op_v1 op = {
      answers.byte() == 255 ? 0U : static_cast<std::uint32_t>(sizeof(ringside_op_v1)),
      answers.number(),
      answers.number(),
      answers.number(),
      static_cast<std::uint32_t>(answers.byte() == 255 ? 2000 : sources),
      static_cast<std::uint32_t>(destinations),
      answers.byte() == 255 ? nullptr : from.data(),
      to.data()};
  // A count must not be larger than what it counts, which no sink can see.
  if (op.source_count > sources && op.source_count <= 1024) return;
  (void)sink->add_op(sink, &op);
}

std::int32_t build(const ringside_request_v1*, const ringside_argument_v1*, std::size_t,
                   ringside_sink_v1* sink) {
  Answers answers(written);
  while (answers.more()) switch (answers.byte() % 8) {
      case 0: {
        const ringside_shape_v1 shape = {sizeof shape, answers.number(), answers.number(),
                                         answers.number()};
        (void)sink->set_shape(sink, &shape);
        break;
      }
      case 1:
        (void)sink->add_scratch(sink, answers.number(), answers.number(), answers.number());
        break;
      case 2:
        if (answers.byte() == 7) sink->explain(sink, "bytes\nwithout a meaning");
        break;
      case 3:
        if (answers.byte() == 255) return answers.number();
        break;
      default:
        add_op(answers, sink);
    }
  return RINGSIDE_BUILD_OK;
}

constexpr std::uint32_t every_collective = 0xff;
constexpr ringside_algorithm_v1 description = {sizeof(ringside_algorithm_v1),
                                               RINGSIDE_ALGORITHM_VERSION,
                                               "fuzzed",
                                               "what bytes say",
                                               nullptr,
                                               every_collective,
                                               0,
                                               nullptr,
                                               nullptr,
                                               build};

/// Registered once; a plug-in that was never asked before answers for it every time.
void register_proxy() {
  static const bool once = [] {
    AlgorithmInfo info =
        foreign_algorithm(&description, std::make_shared<PluginFile>("./fuzzed.so"));
    info.make = [](const Request& request, const Parameters& parameters) {
      return foreign_algorithm(&description, std::make_shared<PluginFile>("./fuzzed.so"))
          .make(request, parameters);
    };
    register_algorithm(std::move(info));
    return true;
  }();
  (void)once;
}

}  // namespace

void run(std::string_view input) {
  register_proxy();
  Answers head(input.substr(0, 5));
  Request request;
  request.collective = static_cast<Collective>(head.byte() % 8);
  request.ranks = 2 + head.byte() % 4;
  request.root = has_root(request.collective) ? head.byte() % request.ranks : 0;
  request.in_place = request.collective != Collective::all_to_all && head.byte() % 2 == 1;
  constexpr std::array specs = {"fuzzed", "fuzzed:slices=3", "fuzzed:slices=4,lanes=2,depth=2"};
  const char* spec = specs[head.byte() % specs.size()];
  written = input.substr(std::min<std::size_t>(input.size(), 5));
  consume_plan(make_plan(spec, request));
}

}  // namespace ringside::fuzz
