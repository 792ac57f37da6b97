// SPDX-License-Identifier: MIT
/// Times the collectives of Gloo. Not run by hand: the benchmark starts it with the number of ranks
/// and their cores ("0,1"; "-": any) as arguments, and talks to it as protocol.hpp says.
///
/// Ranks are threads that share one TCP device: measured 1.3 to 4.7 times faster than a device per
/// rank where ranks outnumber cores. (Debian's Gloo has no shared-memory transport.)
#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <barrier>
#include <condition_variable>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "ringside/bench/peers/number_type.hpp"
#include "ringside/bench/peers/peer_rank.hpp"

namespace ringside::bench {
namespace {

constexpr std::chrono::minutes patience{5};

bool knows(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float32:
    case ElementType::float64:
      return true;
    default:
      return false;
  }
}

using Fold = void (*)(void*, const void*, const void*, std::size_t);

template <class T>
Fold fold_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return &gloo::product<T>;
    case ReduceOp::max:
      return &gloo::max<T>;
    case ReduceOp::min:
      return &gloo::min<T>;
    default:
      return &gloo::sum<T>;
  }
}

template <class T>
const gloo::ReductionFunction<T>* function_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return gloo::ReductionFunction<T>::product;
    case ReduceOp::max:
      return gloo::ReductionFunction<T>::max;
    case ReduceOp::min:
      return gloo::ReductionFunction<T>::min;
    default:
      return gloo::ReductionFunction<T>::sum;
  }
}

std::optional<std::string> refusal(const PeerCommand& command) {
  const bool in_place = command.placement == Placement::in_place;
  const auto only = [&](Collective collective, bool possible) {
    return command.collective == collective && !possible;
  };
  if (!knows(command.type)) return fmt::format("Gloo has no type {}", to_string(command.type));
  if (command.op == ReduceOp::avg || command.op == ReduceOp::premul_sum)
    return fmt::format("Gloo has no operator {}", to_string(command.op));
  if (only(Collective::gather, !in_place) || only(Collective::scatter, !in_place) ||
      only(Collective::all_to_all, !in_place))
    return fmt::format("Gloo has no {} in place", to_string(command.collective));
  if (only(Collective::reduce_scatter, in_place)) return "Gloo's reduce_scatter is always in place";
  if (command.count == 0 && command.collective != Collective::barrier)
    return "Gloo takes no empty messages";
  if (command.count > std::numeric_limits<int>::max() / 16)
    return "the message is too long for Gloo";
  return std::nullopt;
}

/// What the ranks share.
struct Ranks {
  explicit Ranks(int count)
      : size(count),
        device(gloo::transport::tcp::CreateDevice(loopback())),
        meeting(count),
        words(static_cast<std::size_t>(count)),
        lists(static_cast<std::size_t>(count)) {}

  static gloo::transport::tcp::attr loopback() {
    gloo::transport::tcp::attr attributes;
    attributes.iface = "lo";
    attributes.ai_family = AF_UNSPEC;
    return attributes;
  }

  int size;
  std::shared_ptr<gloo::transport::Device> device;
  gloo::rendezvous::HashStore store;
  std::barrier<> meeting;
  std::vector<std::uint64_t> words;
  std::vector<std::vector<double>> lists;

  // The command for the others, who sleep until there is one.
  std::mutex mutex;
  std::condition_variable posted;
  PeerCommand command;
  int number = 0;
};

class GlooLibrary {
 public:
  GlooLibrary(Ranks& shared, int rank) : shared_(shared), rank_(rank), context_(connect("main")) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return shared_.size; }
  void barrier() {
    gloo::BarrierOptions options(context_);
    options.setTimeout(patience);
    gloo::barrier(options);
  }

  template <class Use>
  void with_call(const PeerCommand& command, std::byte* input, std::byte* output, const Use& use) {
    with_number_type(command.type, [&](auto zero) {
      using T = decltype(zero);
      with_call_of(command, reinterpret_cast<T*>(input), reinterpret_cast<T*>(output), use);
    });
  }

  std::uint64_t sum(std::uint64_t own) {
    shared_.words[static_cast<std::size_t>(rank_)] = own;
    shared_.meeting.arrive_and_wait();
    const auto all = std::accumulate(shared_.words.begin(), shared_.words.end(), std::uint64_t{0});
    shared_.meeting.arrive_and_wait();
    return all;
  }
  /// The ranks are one process, and rank 0 is the last to finish.
  [[nodiscard]] static double cpu_seconds(double own) { return own; }
  std::vector<std::vector<double>> gather(const std::vector<double>& own) {
    shared_.lists[static_cast<std::size_t>(rank_)] = own;
    shared_.meeting.arrive_and_wait();
    auto all = rank_ == 0 ? shared_.lists : std::vector<std::vector<double>>();
    shared_.meeting.arrive_and_wait();
    return all;
  }

 private:
  std::shared_ptr<gloo::Context> connect(const std::string& name) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, shared_.size);
    gloo::rendezvous::PrefixStore store(name, shared_.store);
    context->setTimeout(patience);
    context->connectFullMesh(store, shared_.device);
    return context;
  }

  template <class T, class Use>
  void with_call_of(const PeerCommand& command, T* input, T* output, const Use& use) {
    const bool in_place = command.placement == Placement::in_place;
    const std::size_t count = command.count;
    const std::size_t all = count * static_cast<std::size_t>(shared_.size);
    const bool at_root = rank_ == command.root;
    switch (command.collective) {
      case Collective::all_reduce: {
        gloo::AllreduceOptions options(context_);
        if (!in_place) options.setInput(input, count);
        options.setOutput(output, count);
        options.setReduceFunction(fold_of<T>(command.op));
        return use([&] { gloo::allreduce(options); });
      }
      case Collective::reduce_scatter: {
        // A class of the older kind, which wants connections of its own.
        const auto context = connect(fmt::format("reduce_scatter {}", contexts_++));
        std::vector<int> counts(static_cast<std::size_t>(shared_.size), static_cast<int>(count));
        gloo::ReduceScatterHalvingDoubling<T> algorithm(context, {output}, static_cast<int>(all),
                                                        counts, function_of<T>(command.op));
        use([&] { algorithm.run(); });
        shared_.meeting.arrive_and_wait();  // nobody hangs up before all are through
        return;
      }
      case Collective::all_gather: {
        gloo::AllgatherOptions options(context_);
        if (!in_place) options.setInput(input, count);
        options.setOutput(output, all);
        return use([&] { gloo::allgather(options); });
      }
      case Collective::broadcast: {
        gloo::BroadcastOptions options(context_);
        if (!in_place && at_root) options.setInput(input, count);
        options.setOutput(output, count);
        options.setRoot(command.root);
        return use([&] { gloo::broadcast(options); });
      }
      case Collective::reduce: {
        gloo::ReduceOptions options(context_);
        if (!in_place) options.setInput(input, count);
        if (in_place || at_root)
          options.setOutput(output, count);
        else
          options.setOutput(scratch<T>(count), count);  // Gloo's other ranks need one, too
        options.setRoot(command.root);
        options.setReduceFunction(fold_of<T>(command.op));
        return use([&] { gloo::reduce(options); });
      }
      case Collective::gather: {
        gloo::GatherOptions options(context_);
        options.setInput(input, count);
        if (at_root) options.setOutput(output, all);
        options.setRoot(command.root);
        return use([&] { gloo::gather(options); });
      }
      case Collective::scatter: {
        gloo::ScatterOptions options(context_);
        std::vector<T*> pieces;
        for (int i = 0; at_root && i < shared_.size; ++i)
          pieces.push_back(input + static_cast<std::size_t>(i) * count);
        if (at_root) options.setInputs(pieces, count);
        options.setOutput(output, count);
        options.setRoot(command.root);
        return use([&] { gloo::scatter(options); });
      }
      case Collective::all_to_all: {
        gloo::AlltoallOptions options(context_);
        options.setInput(input, all);
        options.setOutput(output, all);
        return use([&] { gloo::alltoall(options); });
      }
      case Collective::barrier: {
        gloo::BarrierOptions options(context_);
        return use([&] { gloo::barrier(options); });
      }
    }
  }

  template <class T>
  T* scratch(std::size_t count) {
    if (scratch_.size() < count * sizeof(T)) scratch_ = PageBuffer(count * sizeof(T));
    return reinterpret_cast<T*>(scratch_.data());
  }

  Ranks& shared_;
  int rank_;
  std::shared_ptr<gloo::Context> context_;
  PageBuffer scratch_;
  int contexts_ = 0;
};

/// A rank other than 0, on a thread of its own. It answers each command before the next is posted.
void follow(Ranks& shared, int number_of_rank, const std::string& cores) {
  pin_rank(cores, number_of_rank);
  GlooLibrary library(shared, number_of_rank);
  PeerRank rank(library);
  for (int seen = 0; true;) {
    std::unique_lock lock(shared.mutex);
    shared.posted.wait(lock, [&] { return shared.number != seen; });
    seen = shared.number;
    const PeerCommand command = shared.command;
    lock.unlock();
    if (command.verb == PeerCommand::Verb::quit) return;
    (void)rank.run(command);
  }
}

void post(Ranks& shared, const PeerCommand& command) {
  const std::lock_guard lock(shared.mutex);
  shared.command = command;
  ++shared.number;
  shared.posted.notify_all();
}

/// An error of Gloo (a lost connection) leaves the other ranks waiting: it ends the process.
template <class Body>
void or_end(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    std::_Exit(2);
  }
}

void serve(int ranks, const std::string& cores) {
  Ranks shared(ranks);  // its event loop's thread is made before this one is pinned
  std::vector<std::thread> others;
  for (int i = 1; i < ranks; ++i)
    others.emplace_back([&shared, &cores, i] { or_end([&] { follow(shared, i, cores); }); });
  pin_rank(cores, 0);
  GlooLibrary library(shared, 0);
  PeerRank rank(library);
  serve_lines("Gloo", ranks, refusal, [&](const PeerCommand& command) {
    post(shared, command);
    return command.verb == PeerCommand::Verb::run ? rank.run(command) : std::string();
  });
  for (auto& other : others) other.join();
}

}  // namespace
}  // namespace ringside::bench

int main(int argc, char** argv) {
  using namespace ringside;
  const auto ranks = parse_int(argc > 1 ? argv[1] : "", 1, 256);
  if (!ranks) {
    std::cerr << "usage: " << argv[0] << " RANKS [CORES]" << std::endl;
    return 2;
  }
  bench::or_end([&] { bench::serve(static_cast<int>(*ranks), argc > 2 ? argv[2] : "-"); });
  return 0;
}
