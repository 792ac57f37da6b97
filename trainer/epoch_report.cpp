// SPDX-License-Identifier: MIT
#include "ringside/trainer/epoch_report.hpp"

#include <algorithm>

#include "ringside/trainer/gathered.hpp"

namespace ringside::trainer {

void gather(EpochReport& report, const RankResult& own, Communicator& comm) {
  double loss = 0;
  std::int64_t correct = 0;
  report.seconds = 0;
  for (const RankResult& result : gathered(comm, own)) {
    report.ranks.push_back(result.report);
    report.seconds = std::max(report.seconds, result.seconds);
    loss += result.loss.sum;
    correct += result.loss.correct;
  }
  report.training = {loss / static_cast<double>(report.samples), correct, report.samples};
}

}  // namespace ringside::trainer
