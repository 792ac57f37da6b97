// SPDX-License-Identifier: MIT
/// All-reduce of several ranks on one GPU: what issuing costs, what a graph saves, and how near the
/// traffic comes to what the memory can do. It says nothing of links: there are none.
///
///     micro_device_all_reduce [SECONDS]       about how long to measure (60)
///
/// Prints a JSON line per measurement, and lines of a table that begin with "#". Copies of the
/// device and calls take turns. The floor of a direct all-reduce of n ranks of S bytes is
/// 2 n S / (bytes that a copy reads and writes a second): every input read once, every output
/// written once.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/world.hpp"

namespace {

using namespace ringside;
using namespace ringside::cuda;

constexpr int device = 0;
constexpr int repetitions = 5;

/// Microseconds between two events on one stream around what `body` puts there.
template <class Body>
double timed(cudaStream_t stream, const Event& begin, const Event& end, Body&& body) {
  check(cudaEventRecord(begin.get(), stream), "cudaEventRecord", device);
  body();
  check(cudaEventRecord(end.get(), stream), "cudaEventRecord", device);
  check(cudaEventSynchronize(end.get()), "cudaEventSynchronize", device);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime",
        device);
  return static_cast<double>(milliseconds) * 1e3;
}

/// Bytes read and written a second by a copy of this length.
double copy_rate(std::size_t bytes) {
  const auto from = DeviceMemory::on(device, bytes), to = DeviceMemory::on(device, bytes);
  const auto stream = Stream::on(device);
  const auto begin = Event::timed_on(device), end = Event::timed_on(device);
  std::vector<double> times;
  for (int i = 0; i <= repetitions; ++i)
    times.push_back(timed(stream.get(), begin, end, [&] {
      check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream.get()),
            "cudaMemcpyAsync", device);
    }));
  times.erase(times.begin());
  return 2.0 * static_cast<double>(bytes) / (median(times) * 1e-6);
}

struct Subject {
  std::string spec;
  int ranks = 2;
  std::size_t bytes = 0;
  bool graph = false;
};

struct Times {
  double device_microseconds = 0;  ///< of a call, of the slowest rank
  double host_microseconds = 0;    ///< that rank 0 spends in a call
};

/// Rank 0's and the others' part.
Times measure(Communicator& comm, const Subject& subject, std::barrier<>& meet,
              std::vector<double>& slowest) {
  const auto stream = Stream::on(device);
  const auto begin = Event::timed_on(device), end = Event::timed_on(device);
  const auto data = DeviceMemory::on(device, subject.bytes);
  check(cudaMemsetAsync(data.data(), 0x11, subject.bytes, stream.get()), "cudaMemsetAsync", device);
  const CallOptions options{.algorithm = subject.spec, .stream = stream.get()};
  const auto call = [&] {
    comm.all_reduce(data.data(), data.data(), subject.bytes / sizeof(float), ElementType::float32,
                    ReduceOp::max, options);
  };
  const int calls = subject.bytes >= (std::size_t{64} << 20) ? 5 : 50;
  for (int i = 0; i < 3; ++i) call();
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", device);
  std::vector<double> device_times, host_times;
  for (int i = 0; i < repetitions; ++i) {
    meet.arrive_and_wait();
    double host = 0;
    const double time = timed(stream.get(), begin, end, [&] {
      const Stopwatch watch;
      for (int j = 0; j < calls; ++j) call();
      host = watch.elapsed().count() * 1e6;
    });
    slowest[static_cast<std::size_t>(comm.rank())] = time / calls;
    meet.arrive_and_wait();
    device_times.push_back(*std::max_element(slowest.begin(), slowest.end()));
    host_times.push_back(host / calls);
  }
  return {median(device_times), median(host_times)};
}

Times measure(const Subject& subject) {
  const ScopedOption graphs("cuda_graphs", subject.graph ? "1" : "0");
  std::barrier<> meet(subject.ranks);
  std::vector<double> slowest(static_cast<std::size_t>(subject.ranks));
  Times times;
  World::cuda(std::vector<int>(static_cast<std::size_t>(subject.ranks), device))
      .run([&](Communicator& comm) {
        const Times own = measure(comm, subject, meet, slowest);
        if (comm.rank() == 0) times = own;
      });
  return times;
}

void report(const Subject& subject, const Times& times, double rate, const std::string& name) {
  const bool direct = subject.spec.starts_with("two_shot");
  const double floor = 2.0 * subject.ranks * static_cast<double>(subject.bytes) / rate * 1e6;
  nlohmann::json line = {{"what", "device_all_reduce"},
                         {"source", "measured"},
                         {"device", name},
                         {"spec", subject.spec},
                         {"ranks", subject.ranks},
                         {"bytes", subject.bytes},
                         {"issue", subject.graph ? "graph" : "streams"},
                         {"microseconds", times.device_microseconds},
                         {"host_microseconds", times.host_microseconds},
                         {"copy_bytes_per_second", rate}};
  if (direct) {
    line["floor_microseconds"] = floor;
    line["fraction_of_floor"] = floor / times.device_microseconds;
  }
  std::cout << line.dump() << '\n';
  fmt::print(
      "# {:22} {:2} ranks {:>8} {:8} {:10.1f} us, host {:7.1f} us{}\n", subject.spec, subject.ranks,
      format_bytes(subject.bytes), subject.graph ? "graph" : "streams", times.device_microseconds,
      times.host_microseconds,
      direct ? fmt::format(", floor {:10.1f} us = {:.2f}", floor, floor / times.device_microseconds)
             : "");
  std::cout.flush();
}

void run(double seconds) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", device);
  const std::string name = properties.name;
  if (name.starts_with("virtual"))
    throw Error(ErrorCode::unsupported, "a virtual device measures nothing");
  const double rate = copy_rate(std::size_t{1} << 30);
  fmt::print("# measured on {}: a copy of 1 GiB reads and writes {:.0f} GB/s\n", name, rate / 1e9);
  const Stopwatch watch;
  // What the goals ask for comes first.
  std::vector<Subject> subjects;
  for (const int ranks : {4, 2, 8})
    for (const std::size_t mebibytes : {256, 64})
      subjects.push_back({"two_shot", ranks, mebibytes << 20, false});
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{64} << 10})
    for (const char* spec : {"ring", "two_shot", "one_shot", "recursive_doubling", "naive"})
      for (const int ranks : {8, 4, 2})
        for (const bool graph : {false, true}) subjects.push_back({spec, ranks, bytes, graph});
  for (const std::size_t mebibytes : {1, 16, 256})
    for (const char* spec : {"ring", "two_shot", "two_shot:transfer=push", "one_shot", "naive",
                             "bidirectional_ring", "binomial", "ring:slices=4,lanes=2"})
      for (const bool graph : {false, true}) subjects.push_back({spec, 4, mebibytes << 20, graph});
  std::size_t done = 0;
  for (const auto& subject : subjects) {
    if (watch.elapsed().count() > seconds) break;
    report(subject, measure(subject), rate, name);
    ++done;
  }
  fmt::print("# {} of {} cells in {:.0f} s\n", done, subjects.size(), watch.elapsed().count());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto seconds = argc > 1 ? parse_int(argv[1]) : std::optional<std::int64_t>(60);
    if (argc > 2 || !seconds || *seconds < 1)
      throw Error(ErrorCode::bad_input, "expected at most a number of seconds");
    require_devices();
    run(static_cast<double>(*seconds));
  } catch (const Error& error) {
    fmt::print(stderr, "micro_device_all_reduce: {}\n", error.what());
    return 2;
  }
}
