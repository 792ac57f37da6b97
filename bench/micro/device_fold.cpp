// SPDX-License-Identifier: MIT
/// How fast the fold is on the device, beside what the device copies: k sources to one destination.
///
///     micro_device_fold [MIB]...       sizes of a run (64 256 1024)
///
/// Prints a JSON line per measurement, and lines of a table that begin with "#". A rate counts what
/// is read and written, (k + 1) runs. Copies and folds take turns, and each fraction is the median
/// of (rate of a fold / rate of the copy just before it).
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/reduction/cuda/device_fold.hpp"

namespace {

using namespace ringside;
using namespace ringside::cuda;

constexpr int device = 0;
constexpr std::size_t most_sources = 8;
constexpr int repetitions = 9;
constexpr int calls_at_once = 4;  // between two events, whose distance has a grain of 0.5 us
constexpr ElementType types[] = {ElementType::float32, ElementType::bfloat16, ElementType::float16,
                                 ElementType::float8_e4m3};

/// Random numbers from 0 to 2 in every type: real work for the memory, unlike zeros.
void fill(const DeviceMemory& memory, cudaStream_t stream) {
  std::vector<std::byte> numbers(1 << 20);
  std::uint64_t state = 1;
  for (std::byte& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<std::byte>(state >> 56 & 0x3fU);
  }
  const std::size_t bytes = numbers.size();
  for (std::size_t at = 0; at < memory.size(); at += bytes)
    check(cudaMemcpyAsync(memory.data() + at, numbers.data(), std::min(bytes, memory.size() - at),
                          cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync", device);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", device);
}

class Bench {
 public:
  explicit Bench(std::size_t bytes)
      : bytes_(bytes),
        memory_(DeviceMemory::on(device, (most_sources + 1) * bytes)),
        stream_(Stream::on(device)),
        begin_(Event::timed_on(device)),
        end_(Event::timed_on(device)) {
    fill(memory_, stream_.get());
  }

  /// Bytes a second.
  [[nodiscard]] double copy_rate() {
    return rate(2, [&] {
      return cudaMemcpyAsync(run(most_sources), run(0), bytes_, cudaMemcpyDeviceToDevice,
                             stream_.get());
    });
  }

  [[nodiscard]] double fold_rate(ElementType type, std::size_t k) {
    std::vector<const std::byte*> sources;
    for (std::size_t j = 0; j < k; ++j) sources.push_back(run(j));
    std::byte* const destination = run(most_sources);
    const auto fold = resolve_device_fold({.k = k, .type = type});
    return rate(k + 1, [&] {
      return fold.launch(sources.data(), &destination, bytes_ / size_of(type), stream_.get());
    });
  }

 private:
  [[nodiscard]] std::byte* run(std::size_t i) const { return memory_.data() + i * bytes_; }

  template <class Call>
  double rate(std::size_t runs, const Call& call) {
    check(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord", device);
    for (int i = 0; i < calls_at_once; ++i) check(call(), "a measured call", device);
    check(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord", device);
    check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize", device);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime",
          device);
    return static_cast<double>(runs * bytes_) * calls_at_once / (milliseconds * 1e-3);
  }

  std::size_t bytes_;
  DeviceMemory memory_;
  Stream stream_;
  Event begin_, end_;
};

void measure(std::size_t mebibytes, const std::string& name) {
  Bench bench(mebibytes << 20);
  fmt::print("# {} MiB a run, measured on {}: fraction of the copy rate by k\n", mebibytes, name);
  (void)bench.copy_rate();
  for (ElementType type : types) {
    std::string row = fmt::format("# {:12}", to_string(type));
    for (std::size_t k = 1; k <= most_sources; ++k) {
      (void)bench.fold_rate(type, k);  // loads the kernel
      std::vector<double> copies, folds, fractions;
      for (int i = 0; i < repetitions; ++i) {
        copies.push_back(bench.copy_rate());
        folds.push_back(bench.fold_rate(type, k));
        fractions.push_back(folds.back() / copies.back());
      }
      const nlohmann::json line = {{"what", "device_fold"},
                                   {"measured", true},
                                   {"device", name},
                                   {"bytes", mebibytes << 20},
                                   {"type", to_string(type)},
                                   {"k", k},
                                   {"m", 1},
                                   {"copy_bytes_per_second", median(copies)},
                                   {"fold_bytes_per_second", median(folds)},
                                   {"fraction_of_copy", median(fractions)}};
      std::cout << line.dump() << std::endl;
      row += fmt::format(" {:6.3f}", median(fractions));
    }
    std::cout << row << std::endl;
  }
}

std::size_t parse_mebibytes(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > 1 << 16)
    throw Error(ErrorCode::bad_input,
                "a size is a number of MiB, not \"" + std::string(text) + "\"");
  return value;
}

void run(const std::vector<std::string_view>& arguments) {
  std::vector<std::size_t> sizes;
  for (std::string_view argument : arguments) sizes.push_back(parse_mebibytes(argument));
  if (sizes.empty()) sizes = {64, 256, 1024};

  require_devices();
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", device);
  const std::string name = properties.name;
  if (name.starts_with("virtual"))
    throw Error(ErrorCode::unsupported, "a virtual device measures nothing");
  for (std::size_t size : sizes) measure(size, name);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::cerr << "micro_device_fold: " << error.what() << "\n";
    return error.code() == ErrorCode::device ? 1 : 2;
  }
  return 0;
}
