// SPDX-License-Identifier: MIT
/// GPUs as a platform: our algorithms on them in one way or several, and NCCL.
#include "ringside/bench/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_list.hpp"
#include "ringside/bench/cuda/memory.hpp"
#include "ringside/bench/cuda/nccl_subject.hpp"
#include "ringside/bench/cuda/stage.hpp"
#include "ringside/bench/gpu_request.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/collectives/external/nccl/library.hpp"
#include "ringside/collectives/world.hpp"

namespace ringside::bench {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

bool is_virtual(const Gpu& gpu) { return gpu.name.starts_with("virtual"); }

Gpu read_gpu(int number) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties", number);
  char pci[32] = {};
  cuda::check(cudaDeviceGetPCIBusId(pci, sizeof pci, number), "cudaDeviceGetPCIBusId", number);
  return {.number = number,
          .name = properties.name,
          .pci_bus_id = pci,
          .memory = properties.totalGlobalMem};
}

Gpus read_gpus(const std::vector<int>& devices) {
  Gpus gpus;
  for (const int device : std::set<int>(devices.begin(), devices.end()))
    gpus.list.push_back(read_gpu(device));
  int driver = 0;
  int runtime = 0;
  cuda::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion", devices.front());
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion", devices.front());
  gpus.driver = version_text(driver);
  gpus.runtime = version_text(runtime);
  gpus.are_virtual = std::any_of(gpus.list.begin(), gpus.list.end(), is_virtual);
  return gpus;
}

bool wants_nccl(const BenchRequest& request) {
  return request.backend == BackendKind::nccl ||
         std::find(request.compare.begin(), request.compare.end(), "nccl") != request.compare.end();
}

/// A team whose communicators have been made, so that they have read the options as they are now.
std::shared_ptr<Team> ready_team(World world, bool pinned) {
  auto team = std::make_shared<Team>(std::move(world), pinned);
  team->each([](Communicator&) {});
  return team;
}

/// NCCL's communicators take seconds to make: once for each number of ranks.
class NcclTeams {
 public:
  explicit NcclTeams(const BenchRequest& request) : request_(request) {}

  /// They end with the stages that use them.
  void forget() { teams_.clear(); }

  [[nodiscard]] std::shared_ptr<Team> of(int ranks) {
    auto& team = teams_[ranks];
    if (!team) team = ready_team(World::nccl(request_.gpus.devices_of(ranks)), request_.pin);
    return team;
  }

 private:
  const BenchRequest& request_;
  std::map<int, std::shared_ptr<Team>> teams_;
};

class GpuGroup final : public PlatformGroup {
 public:
  GpuGroup(const BenchRequest& request, const Gpus& gpus, NcclTeams& nccl, Operation operation,
           const Request& what, std::uint64_t bytes)
      : request_(request),
        gpus_(gpus),
        nccl_(nccl),
        operation_(operation),
        what_(what),
        devices_(request.gpus.devices_of(what.ranks)),
        memory_(std::make_shared<GpuMemory>(what, bytes, request, devices_)) {}

  ~GpuGroup() override {
    // After an error calls may be under way for ever, in this group's memory.
    if (std::uncaught_exceptions() > 0) nccl_.forget();
    stages_.clear();
  }

  std::vector<std::unique_ptr<Subject>> subjects(std::vector<Skipped>& skipped) override {
    std::vector<std::unique_ptr<Subject>> subjects;
    if (operation_.is_sendrecv()) {
      skipped.push_back({"messages", what_.ranks, no_sendrecv_on_gpus, operation_});
      return subjects;
    }
    if (request_.backend == BackendKind::cuda) add_algorithms(subjects, skipped);
    if (wants_nccl(request_)) add_nccl(subjects, skipped);
    return subjects;
  }

  void prepare(ElementType type, std::uint64_t /*count*/) override {
    memory_->fill_with_ones(type, request_.timeout.value_or(option<Seconds>("timeout")));
  }

 private:
  void add_algorithms(std::vector<std::unique_ptr<Subject>>& subjects,
                      std::vector<Skipped>& skipped) {
    for (const auto& copies : request_.gpus.copies)
      for (const auto& issue : request_.gpus.issue) {
        Stage& stage = ours(issue, copies);
        std::vector<Skipped> same;  // in every way
        for (auto& subject : make_algorithms(request_, stage, stages_.size() == 1 ? skipped : same))
          subjects.push_back(std::move(subject));
      }
  }

  Stage& ours(const std::string& issue, const std::string& copies) {
    const ScopedOption graphs("cuda_graphs", issue == "graphs" ? "1" : "0");
    const ScopedOption engines("cuda_copies", copies);
    std::vector<std::string> words;
    if (request_.gpus.issue.size() > 1) words.push_back(issue);
    if (request_.gpus.copies.size() > 1) words.push_back(fmt::format("copies={}", copies));
    return add_stage(ready_team(World::cuda(devices_), request_.pin),
                     {.issue = issue, .copies = copies, .label = join(words, ", ")});
  }

  Stage& add_stage(std::shared_ptr<Team> team, StageMode mode) {
    stages_.push_back(std::make_unique<GpuStage>(std::move(team), what_, memory_, request_.timeout,
                                                 std::move(mode), !gpus_.are_virtual));
    return *stages_.back();
  }

  void add_nccl(std::vector<std::unique_ptr<Subject>>& subjects, std::vector<Skipped>& skipped) {
    const bool beside = request_.backend != BackendKind::nccl;
    const bool shares = std::set<int>(devices_.begin(), devices_.end()).size() < devices_.size();
    std::shared_ptr<Team> team;
    try {
      team = nccl_.of(what_.ranks);
    } catch (const Error& error) {
      if (!beside || !shares) throw;
      skipped.push_back({"nccl", what_.ranks,
                         fmt::format("ranks share a GPU, and {}", error.what()), operation_});
      return;
    }
    Stage& stage = add_stage(std::move(team), {.issue = "streams", .copies = "", .label = ""});
    subjects.push_back(std::make_unique<NcclSubject>(stage, gpus_.nccl, beside));
  }

  const BenchRequest& request_;
  const Gpus& gpus_;
  NcclTeams& nccl_;
  Operation operation_;
  Request what_;
  std::vector<int> devices_;
  std::shared_ptr<GpuMemory> memory_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

class GpuPlatform final : public Platform {
 public:
  explicit GpuPlatform(const BenchRequest& request)
      : request_(request), gpus_(read_gpus(request.gpus.devices)), nccl_(request) {
    if (wants_nccl(request)) gpus_.nccl = nccl::Library::open()->name();
  }

  void check_memory(const Request& what, std::uint64_t bytes) const override {
    std::map<int, std::uint64_t> needed;
    for (int rank = 0; rank < what.ranks; ++rank) {
      const RankBytes sizes = rank_bytes(what, rank, bytes, request_);
      needed[request_.gpus.device_of(rank)] += sizes.input + sizes.output;
    }
    const auto refuse = [&](std::uint64_t wanted, std::string_view where, std::uint64_t free) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} ranks with messages of {} need {} of {}, more than the {} that "
                              "are free; choose a smaller --end",
                              what.ranks, format_bytes(bytes), format_bytes(wanted), where,
                              format_bytes(free)));
    };
    for (const auto& [device, wanted] : needed) {
      const cuda::DeviceGuard guard(device);
      std::size_t free = 0;
      std::size_t total = 0;
      cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", device);
      if (wanted > free) refuse(wanted, fmt::format("the memory of GPU {}", device), free);
    }
    const std::uint64_t copies = host_copy_bytes(what, bytes, request_);
    const std::uint64_t available = available_memory();
    if (available > 0 && copies > available)
      refuse(copies, "host memory for the checks (--check 0 needs none)", available);
  }

  std::unique_ptr<PlatformGroup> group(Operation operation, const Request& what,
                                       std::uint64_t bytes) override {
    return std::make_unique<GpuGroup>(request_, gpus_, nccl_, operation, what, bytes);
  }

  std::optional<Gpus> gpus() const override { return gpus_; }
  bool depends_on_cores() const override { return false; }

 private:
  const BenchRequest& request_;
  Gpus gpus_;
  NcclTeams nccl_;
};

}  // namespace

std::unique_ptr<Platform> make_gpu_platform(const BenchRequest& request) {
  BenchRequest settled = request;
  check_gpu_request(request);
  settle_gpus(settled);  // refuses
  return std::make_unique<GpuPlatform>(request);
}

void settle_gpus(BenchRequest& request) try {
  if (wants_nccl(request)) (void)nccl::Library::open();
  const int count = cuda::device_count();
  auto& devices = request.gpus.devices;
  if (devices.empty())
    for (int device = 0; device < count; ++device) devices.push_back(device);
  for (const int device : devices)
    if (device < 0 || device >= count)
      throw Error(ErrorCode::bad_input,
                  fmt::format("there is no GPU {}: this machine has {}", device,
                              count == 1 ? "GPU 0 only" : fmt::format("0 to {}", count - 1)));
  if (request.ranks.empty()) request.ranks = {static_cast<int>(devices.size())};
  if (!request.gpus.allow_virtual && read_gpus(devices).are_virtual)
    throw Error(ErrorCode::unsupported, "a virtual device measures nothing");
} catch (const Error& error) {
  throw Error(error.code(),
              fmt::format("--backend {}: {}", to_string(request.backend), error.what()));
}

}  // namespace ringside::bench
