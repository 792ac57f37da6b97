// SPDX-License-Identifier: MIT
/// An all-reduce of one's own: written, proven, counted, and run beside the naive one.
///
/// The question: implement a more efficient all-reduce. Why is it more efficient?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <ringside/ringside.hpp>

namespace {

/// The data are cut in one chunk per rank. Every rank adds up its own chunk of everybody's data,
/// and then everybody fetches the finished chunks. (Naive lets rank 0 do all of it.) Each rank
/// starts with its right neighbour, so that no two read from the same rank at the same time.
ringside::OpStream shared_work(ringside::Group g) {
  const int n = g.ranks();
  for (int distance = 1; distance < n; ++distance)
    for (int rank = 0; rank < n; ++rank)
      co_yield g.combine(rank, rank, (rank + distance) % n, /*chunk=*/rank);
  for (int distance = 1; distance < n; ++distance)
    for (int rank = 0; rank < n; ++rank)
      co_yield g.copy((rank + distance) % n, rank, /*chunk=*/(rank + distance) % n);
}

void register_mine() {
  ringside::register_algorithm(
      {.name = "mine",
       .summary = "every rank adds up its share",
       .make = [](const ringside::Request& request, const ringside::Parameters&) {
         return ringside::Algorithm{.chunks = request.ranks, .write = shared_work};
       }});
}

/// Proves the plan and counts what it costs; the message is 1,000,000 bytes, so that bytes read as
/// millionths.
ringside::Cost examine(const std::string& algorithm, int ranks) {
  const auto plan = ringside::make_plan(algorithm, {.ranks = ranks});
  ringside::require_proof(plan, /*own=*/true);
  const std::vector<std::size_t> elements = {1'000'000};
  auto cost = ringside::cost_of(plan, elements, 1);
  std::printf(
      "%-6s proven; %2d steps; the busiest rank sends %.2f S, receives %.2f S; %zu transfers\n",
      algorithm.c_str(), cost.steps, static_cast<double>(cost.busiest_sent()) / 1e6,
      static_cast<double>(cost.busiest_received()) / 1e6, cost.transfers);
  return cost;
}

/// Runs it on threads of this machine: whether the sums are right, and the median time of a call.
bool run(const std::string& algorithm, int ranks, std::size_t elements) {
  auto world = ringside::World::threads(ranks);
  std::vector<double> seconds;
  bool right = true;
  world.run([&](ringside::Communicator& comm) {
    std::vector<float> data(elements), sum(elements);
    for (std::size_t i = 0; i < elements; ++i)
      data[i] = static_cast<float>(comm.rank() + static_cast<int>(i % 100));
    for (int call = 0; call < 11; ++call) {
      const auto start = std::chrono::steady_clock::now();
      comm.all_reduce(std::span<const float>(data), std::span(sum), ringside::ReduceOp::sum,
                      {.algorithm = algorithm});
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (comm.rank() == 0) seconds.push_back(time.count());
    }
    if (comm.rank() != 0) return;
    for (std::size_t i = 0; i < elements; ++i) {
      const int expected = ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i % 100);
      right = right && sum[i] == static_cast<float>(expected);
    }
  });
  std::nth_element(seconds.begin(), seconds.begin() + 5, seconds.end());
  std::printf("%-6s %s; measured, %zu KiB: %.0f us\n", algorithm.c_str(), right ? "right" : "WRONG",
              elements * sizeof(float) / 1024, seconds[5] * 1e6);
  return right;
}

}  // namespace

int main() {
  constexpr int ranks = 4;
  try {
    register_mine();
    std::printf("All-reduce of S bytes on %d ranks, counted from the plans:\n", ranks);
    const auto naive = examine("naive", ranks);
    const auto mine = examine("mine", ranks);
    std::printf(
        "Why is it more efficient? In naive everything passes rank 0, whose link carries %.1f "
        "times\nas much as the busiest of mine: there every rank adds up 1/%d of the data, and all "
        "links\nwork at once. 2 S (n-1)/n is also the least that any all-reduce can send without "
        "help from\na switch. The price is %d steps instead of %d: for small messages, where a "
        "step costs more\nthan its bytes, naive may win.\n",
        static_cast<double>(naive.busiest_sent()) / static_cast<double>(mine.busiest_sent()), ranks,
        mine.steps, naive.steps);
    bool right = true;
    for (const std::size_t elements : {std::size_t{256}, std::size_t{1} << 20})
      for (const char* algorithm : {"naive", "mine"})
        right = run(algorithm, ranks, elements) && right;
    return right ? 0 : 1;
  } catch (const ringside::Error& error) {
    std::fprintf(stderr, "own_algorithm: %s\n", error.what());
    return 2;
  }
}
