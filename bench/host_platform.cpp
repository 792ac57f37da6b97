// SPDX-License-Identifier: MIT
/// The host as a platform: ranks are threads, and other libraries' programs run beside them.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_list.hpp"
#include "ringside/bench/competitors.hpp"
#include "ringside/bench/host_stage.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/bench/message_subject.hpp"
#include "ringside/bench/native_mpi_subject.hpp"
#include "ringside/bench/platform.hpp"

namespace ringside::bench {
namespace {

class HostGroup final : public PlatformGroup {
 public:
  HostGroup(const BenchRequest& request, Operation operation, const Request& what,
            std::uint64_t bytes)
      : request_(request), operation_(operation), stage_(what, bytes, request) {}

  std::vector<std::unique_ptr<Subject>> subjects(std::vector<Skipped>& skipped) override {
    std::vector<std::unique_ptr<Subject>> subjects;
    if (operation_.is_sendrecv()) {
      subjects.push_back(std::make_unique<MessageSubject>(stage_));
      for (const auto& name : request_.compare)
        skipped.push_back(
            {name, stage_.team().size(), "sendrecv is measured of ours only", operation_});
      return subjects;
    }
    if (request_.backend != BackendKind::openmpi)
      subjects = make_algorithms(request_, stage_, skipped);
    if (runs_on_processes(request_.backend)) {
      const bool beside_ours = request_.backend != BackendKind::openmpi;
      if (!beside_ours || !request_.compare.empty())
        subjects.push_back(std::make_unique<NativeMpiSubject>(stage_, beside_ours));
      return subjects;
    }
    for (auto& competitor : make_competitors(request_, stage_, skipped))
      subjects.push_back(std::move(competitor));
    return subjects;
  }

  void prepare(ElementType type, std::uint64_t count) override {
    stage_.fill_with_ones(type, count);
  }

 private:
  const BenchRequest& request_;
  Operation operation_;
  HostStage stage_;
};

class HostPlatform final : public Platform {
 public:
  explicit HostPlatform(const BenchRequest& request) : request_(request) {
    if (!runs_on_processes(request.backend)) check_competitors(request);
  }

  /// The probe's threads of every process would be in each other's way.
  [[nodiscard]] bool depends_on_cores() const override {
    return !runs_on_processes(request_.backend);
  }

  /// Refuses what would end in the kernel killing somebody. Open MPI's processes have buffers of
  /// their own, and its algorithms a temporary as large.
  void check_memory(const Request& what, std::uint64_t bytes) const override {
    const std::uint64_t buffers =
        request_.measured[static_cast<std::size_t>(Placement::out_of_place)] ? 2 : 1;
    const std::uint64_t of_peer = competitor_buffers(request_, buffers);
    const double needed = static_cast<double>(HostStage::bytes_needed(what, bytes, request_)) +
                          static_cast<double>(bytes) * static_cast<double>(of_peer) * what.ranks;
    const std::uint64_t available = available_memory();
    if (available == 0 || needed <= static_cast<double>(available)) return;
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{} ranks with messages of {} need {} of buffers, more than the {} of memory "
                    "available; choose a smaller --end",
                    what.ranks, format_bytes(bytes),
                    format_bytes(static_cast<std::uint64_t>(std::min(needed, 0x1p63))),
                    format_bytes(available)));
  }

  std::unique_ptr<PlatformGroup> group(Operation operation, const Request& what,
                                       std::uint64_t bytes) override {
    return std::make_unique<HostGroup>(request_, operation, what, bytes);
  }

 private:
  const BenchRequest& request_;
};

}  // namespace

std::unique_ptr<Platform> make_host_platform(const BenchRequest& request) {
  return std::make_unique<HostPlatform>(request);
}

std::unique_ptr<Platform> make_platform(const BenchRequest& request) {
  return runs_on_gpus(request.backend) ? make_gpu_platform(request) : make_host_platform(request);
}

}  // namespace ringside::bench
