// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/mend_prices.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/nccl_run.hpp"
#include "ringside/collectives/selector/measured_and_predicted.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/topology/gpu_places.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside {
namespace {

/// What is different from the topology, and how the call is made.
struct Variant {
  std::vector<std::string> words;
  std::vector<int> order;  ///< of the GPUs, by their numbers; empty: as they are numbered
  bool other_algorithm = false;
};

void add(std::vector<std::string>& words, const std::vector<std::string>& more) {
  for (const auto& word : more)
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

void remove(std::vector<std::string>& words, const std::vector<std::string>& gone) {
  std::erase_if(
      words, [&](const std::string& word) { return std::ranges::find(gone, word) != gone.end(); });
}

bool takes_a_gpu_away(const Diagnosis& diagnosis) {
  return std::ranges::any_of(diagnosis.mend.mended,
                             [](const std::string& word) { return word.starts_with("remove:"); });
}

/// The cure of a finding that copies=engine mends leaves p2p=off in place: it mends how, not that.
bool keeps_state(const Mend& mend) {
  return std::ranges::any_of(mend.mended,
                             [](const std::string& word) { return word.starts_with("copies="); });
}

class Pricer {
 public:
  Pricer(const Topology& topology, double bytes)
      : topology_(topology), model_(*link_model_for(topology).model), bytes_(bytes) {}

  MendPrice time(const Variant& variant) const {
    MachineDescription machine{topology_, model_, {}};
    for (const auto& word : variant.words) machine = with_what_if(std::move(machine), word);
    if (variant.other_algorithm) return best_plan(std::move(machine));
    const int gpus = static_cast<int>(machine.topology.gpus().size());
    NcclCall call;
    call.bytes = bytes_;
    call.gpus = gpu_places(machine.topology, variant.order);
    if (static_cast<int>(call.gpus.size()) != gpus) {
      call.gpus.resize(static_cast<std::size_t>(gpus));
      std::iota(call.gpus.begin(), call.gpus.end(), 0);
    }
    return {.as_is = 0,
            .mended = nccl_seconds(as_nccl_uses(std::move(machine)), call),
            .mended_by = {},
            .gpus = gpus};
  }

 private:
  [[nodiscard]] MendPrice best_plan(MachineDescription description) const {
    const Machine machine(std::move(description.topology), std::move(description.model),
                          description.settings);
    Predictor::Settings settings;
    settings.others = false;
    Predictor predictor(machine, {}, settings);
    Question question;
    question.request.collective = Collective::all_reduce;
    question.request.ranks = machine.gpus();
    question.bytes = static_cast<std::uint64_t>(bytes_) / 4 * 4;
    const auto choice = predictor.choose(question);
    return {.as_is = 0, .mended = choice.seconds, .mended_by = choice.spec, .gpus = machine.gpus()};
  }

  const Topology& topology_;
  LinkModel model_;
  double bytes_;
};

/// Takes away those that do not take part.
void keep_only(Variant& variant, const Topology& topology, const std::vector<int>& gpus) {
  if (gpus.empty()) return;
  const auto all = topology.gpus();
  for (std::size_t place = 0; place < all.size(); ++place)
    if (std::ranges::find(gpus, gpu_number(topology, all[place], place)) == gpus.end())
      variant.words.push_back("remove:" + topology.node(all[place]).name);
}

/// What is said of the machine by all findings that are certain or likely.
Variant as_found(std::span<const Diagnosis> diagnoses) {
  Variant variant;
  for (const auto& diagnosis : diagnoses) {
    if (diagnosis.certainty == Certainty::possible) continue;
    add(variant.words, diagnosis.mend.as_is);
    if (!diagnosis.mend.ring_as_is.empty()) variant.order = diagnosis.mend.ring_as_is;
  }
  return variant;
}

void mend(Variant& variant, const Mend& mend) {
  if (!keeps_state(mend)) remove(variant.words, mend.as_is);
  add(variant.words, mend.mended);
  if (!mend.ring_order.empty()) variant.order = mend.ring_order;
  variant.other_algorithm |= mend.other_algorithm;
}

std::optional<MendPrice> price_of(const Pricer& pricer, const Variant& before,
                                  const Variant& after) try {
  MendPrice price = pricer.time(after);
  const MendPrice now = pricer.time(before);
  price.as_is = now.mended;
  price.gpus_as_is = now.gpus;
  return price;
} catch (const Error&) {
  return std::nullopt;  // a machine that the twin has no figures or no rings for
}

MachineDescription described(const Topology& topology, const std::vector<std::string>& words) {
  MachineDescription machine{topology, *link_model_for(topology).model, {}};
  for (const auto& word : words) machine = with_what_if(std::move(machine), word);
  return machine;
}

Variant all_mended(std::span<const Diagnosis> diagnoses) {
  Variant variant = as_found(diagnoses);
  for (const auto& diagnosis : diagnoses)
    if (diagnosis.certainty != Certainty::possible && !takes_a_gpu_away(diagnosis))
      mend(variant, diagnosis.mend);
  return variant;
}

}  // namespace

MendPrices price_mends(const Topology& topology, std::span<const Diagnosis> diagnoses,
                       double bytes) {
  MendPrices prices;
  prices.each.resize(diagnoses.size());
  if (topology.gpus().size() < 2 || topology.links().empty()) {
    prices.why_none = "the inputs do not tell how the GPUs are linked";
    return prices;
  }
  const Pricer pricer(topology, bytes);
  const Variant found = as_found(diagnoses);
  int mended = 0;
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    const auto& diagnosis = diagnoses[i];
    if (diagnosis.mend.empty()) continue;
    Variant before = found;
    add(before.words, diagnosis.mend.as_is);
    keep_only(before, topology, diagnosis.mend.gpus);
    Variant after = before;
    mend(after, diagnosis.mend);
    prices.each[i] = price_of(pricer, before, after);
    if (prices.each[i] && diagnosis.certainty != Certainty::possible &&
        !takes_a_gpu_away(diagnosis))
      ++mended;
  }
  if (mended > 1) prices.together = price_of(pricer, found, all_mended(diagnoses));
  return prices;
}

void add_measured(MendPrices& prices, const std::vector<Reading>& readings, double bytes) {
  const auto add_to = [&](std::optional<MendPrice>& price) {
    if (price)
      price->as_is_measured = measured_all_reduce_seconds(readings, price->gpus_as_is, bytes);
  };
  for (auto& price : prices.each) add_to(price);
  add_to(prices.together);
}

void drop_without_gain(std::vector<Diagnosis>& diagnoses, MendPrices& prices) {
  constexpr double a_gain = 1.005;
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    auto& price = prices.each[i];
    if (!price || price->slowdown() > a_gain) continue;
    if (diagnoses[i].harm == Harm::slow) {
      diagnoses[i].harm = Harm::risk;
      diagnoses[i].slowdown = 1;
    }
    price.reset();
  }
  if (prices.together && prices.together->slowdown() <= a_gain) prices.together.reset();
}

void rank_by_cost(std::vector<Diagnosis>& diagnoses, MendPrices& prices) {
  std::vector<std::size_t> order(diagnoses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const auto& each = diagnoses[i];
    const auto& price = prices.each[i];
    return std::tuple(each.certainty == Certainty::possible, each.harm,
                      -(price ? price->slowdown() : each.slowdown), each.certainty);
  });
  std::vector<Diagnosis> sorted;
  std::vector<std::optional<MendPrice>> sorted_prices;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(diagnoses[i]));
    sorted_prices.push_back(std::move(prices.each[i]));
  }
  diagnoses = std::move(sorted);
  prices.each = std::move(sorted_prices);
}

MachineDescription machine_as_found(const Topology& topology,
                                    std::span<const Diagnosis> diagnoses) {
  return described(topology, as_found(diagnoses).words);
}

MachineDescription machine_mended(const Topology& topology, std::span<const Diagnosis> diagnoses) {
  return described(topology, all_mended(diagnoses).words);
}

}  // namespace ringside
