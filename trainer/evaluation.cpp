// SPDX-License-Identifier: MIT
#include "ringside/trainer/evaluation.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ringside::trainer {

Score evaluate(Replica& replica, Communicator& comm, const Samples& samples, std::size_t batch) {
  const Extent own = part_of(samples.count(), static_cast<std::size_t>(comm.size()),
                             static_cast<std::size_t>(comm.rank()));
  double loss = 0;
  std::array<std::int64_t, 2> counts{};  // correct, samples
  for (std::size_t done = 0; done < own.length; done += batch) {
    const std::size_t count = std::min(batch, own.length - done);
    const BatchView view(
        std::span(samples.pixels).subspan((own.offset + done) * image_pixels, count * image_pixels),
        std::span(samples.labels).subspan(own.offset + done, count));
    const Memory outputs = replica.forward(view, Replica::Mode::evaluation);
    const Loss part = replica.loss(outputs, view.labels, {nullptr, 0, outputs.type});
    loss += part.sum;
    counts[0] += part.correct;
    counts[1] += static_cast<std::int64_t>(count);
  }
  comm.all_reduce(counts);
  comm.all_reduce(std::span(&loss, 1));
  return {counts[1] == 0 ? 0 : loss / static_cast<double>(counts[1]), counts[0], counts[1]};
}

}  // namespace ringside::trainer
