// SPDX-License-Identifier: MIT
#include "ringside/trainer/predict/device_speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/trainer/data/dataset.hpp"
#include "ringside/trainer/processor_time.hpp"

namespace ringside::trainer {
namespace {

/// Batches of 256 in an epoch of 60,000 samples, the last one smaller.
constexpr double steps_of_epoch = 235;
constexpr double samples_of_d2l = 256;

/// Seconds of an epoch with one GPU, and with two that share its batches: what the second did not
/// take away twice over is fixed, communication counted as nothing.
constexpr double fixed_seconds(double one, double two) {
  return std::clamp(2 * two - one, 0.0, one) / steps_of_epoch;
}

/// "Dive into Deep Learning" 12.5 and 12.6 print seconds of an epoch.
constexpr auto published = std::to_array<PublishedSpeed>({
    {"d2l-2023", Model::lenet, samples_of_d2l, 3.0 / steps_of_epoch, fixed_seconds(3.0, 2.8),
     "d2l 12.5 in PyTorch, August 2023: 3.0 s an epoch, 2.8 s with two GPUs; a GPU that is not "
     "named, loading included"},
    {"d2l-2023", Model::resnet18, samples_of_d2l, 12.2 / steps_of_epoch, 0,
     "d2l 12.6 in PyTorch, August 2023: 12.2 s an epoch; a GPU that is not named, loading "
     "included"},
    {"d2l-2019", Model::lenet, samples_of_d2l, 1.8 / steps_of_epoch, fixed_seconds(1.8, 2.5),
     "d2l's one-day course in MXNet, July 2019: 1.8 s an epoch, 2.5 s with two GPUs; a GPU that is "
     "not named, loading included"},
    {"d2l-2019", Model::resnet18, samples_of_d2l, 13.2 / steps_of_epoch, 0,
     "d2l's one-day course in MXNet, July 2019: 13.2 s an epoch; a GPU that is not named, loading "
     "included"},
    {"d2l-rebuild", Model::resnet18, samples_of_d2l, 5.8 / steps_of_epoch, 0,
     "a later build of d2l 12.6, quoted in an audit of it: 5.8 s an epoch; a GPU that is not "
     "named, "
     "loading included"},
});

/// Processor time of this thread, which does all the computing: neighbours on its core do not
/// count.
class ProcessorWatch {
 public:
  [[nodiscard]] double elapsed() const { return now() - start_; }
  double restart() {
    const double stop = now();
    return stop - std::exchange(start_, stop);
  }

 private:
  static double now() { return processor_seconds(CLOCK_THREAD_CPUTIME_ID); }
  double start_ = now();
};

/// One step of training, timed.
struct TimedStep {
  double forward = 0, backward = 0, update = 0;
  std::vector<double> ready;  ///< seconds since the backward pass began

  [[nodiscard]] double seconds() const { return forward + backward + update; }
};

TimedStep timed_step(Replica& replica, const Memory& gradient, const Samples& data) {
  TimedStep step;
  step.ready.resize(replica.tensors().parameters.size());
  ProcessorWatch watch;
  replica.clear_gradients();
  const Memory out = replica.forward({data.pixels, data.labels}, Replica::Mode::training);
  (void)replica.loss(out, data.labels, gradient);
  step.forward = watch.restart();
  replica.backward(gradient, [&](std::size_t tensor) { step.ready[tensor] = watch.elapsed(); });
  step.backward = watch.restart();
  constexpr double small_rate = 1e-3;
  replica.update({.rate = small_rate, .samples = static_cast<double>(data.count())});
  step.update = watch.elapsed();
  return step;
}

}  // namespace

DeviceSpeed DeviceSpeed::scaled(double times) const {
  DeviceSpeed other = *this;
  other.seconds = fixed + (seconds - fixed) * times;
  return other;
}

std::span<const PublishedSpeed> published_speeds() { return published; }

const PublishedSpeed* published_speed(Model model, std::string_view name) {
  const auto* found = std::find_if(published.begin(), published.end(), [&](const auto& each) {
    return each.model == model && (name.empty() || each.name == name);
  });
  return found == published.end() ? nullptr : found;
}

DeviceSpeed speed_of(const PublishedSpeed& step, double samples) {
  DeviceSpeed speed;
  speed.seconds = step.seconds;
  speed.fixed = step.fixed;
  speed.source = fmt::format("published, {} ({})", step.name, step.source);
  if (samples == step.samples) return speed;
  speed.source += fmt::format("; of {} samples, what is not fixed in proportion", step.samples);
  return speed.scaled(samples / step.samples);
}

MeasuredSpeed measure_here(Engine& engine, const ModelSettings& settings, std::size_t samples) {
  const auto replica = engine.make_replica(settings, 1);
  const Samples data = synthetic_dataset(samples, 1, settings.seed).training;
  const Memory gradient = replica->allocate(samples * classes, replica->parameters().type);
  (void)timed_step(*replica, gradient, data);  // memory is mapped, caches are filled
  constexpr std::size_t least = 2, most = 30;
  constexpr Seconds long_enough{5};
  std::vector<TimedStep> steps;
  for (const Stopwatch watch;
       steps.size() < least || (steps.size() < most && watch.elapsed() < long_enough);)
    steps.push_back(timed_step(*replica, gradient, data));

  const auto median_of = [&](auto value) {
    std::vector<double> values;
    for (const TimedStep& step : steps) values.push_back(value(step));
    return median(std::move(values));
  };
  MeasuredSpeed measured;
  auto& speed = measured.speed;
  speed.seconds = median_of([](const TimedStep& step) { return step.seconds(); });
  speed.backward_share =
      median_of([](const TimedStep& step) { return step.backward / step.seconds(); });
  speed.source = fmt::format(
      "measured here, processor time of one thread of this CPU by {} (median of {} steps): no "
      "GPU's "
      "speed",
      engine.facts().name, steps.size());
  for (std::size_t tensor = 0; tensor < steps.front().ready.size(); ++tensor)
    measured.ready.push_back(median_of(
        [&](const TimedStep& step) { return std::min(step.ready[tensor] / step.backward, 1.0); }));
  return measured;
}

}  // namespace ringside::trainer
