// SPDX-License-Identifier: MIT
/// NCCL as a backend of a world: its communicators are made once and serve one run after another,
/// unless one has failed.
#include "ringside/collectives/backend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/external/nccl/communicator.hpp"

namespace ringside {
namespace nccl {
namespace {

void check_devices(const std::vector<int>& devices) {
  for (const int device : devices)
    if (device < 0)
      throw Error(ErrorCode::invalid_argument, fmt::format("device {} is none", device));
}

/// NCCL says less clearly which device is none.
void check_devices_exist(const std::vector<int>& devices) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count < 1) {
    (void)cudaGetLastError();
    return;  // NCCL tells why
  }
  for (const int device : devices)
    if (device >= count)
      throw Error(ErrorCode::invalid_argument, fmt::format("device {} is none: there {} {}", device,
                                                           count == 1 ? "is" : "are", count));
}

class NcclBackend final : public Backend {
 public:
  explicit NcclBackend(const std::vector<int>& devices) : devices_(devices) {
    if (option<bool>("checksum"))
      throw Error(ErrorCode::unsupported,
                  "option checksum: not with NCCL, whose data we do not see");
    check_devices(devices);
    library_ = Library::open();
    check_devices_exist(devices);
    comms_ = start(library_, devices_);
  }
  // After a failure some may wait for others for ever.
  ~NcclBackend() override {
    if (failed()) abort();
  }

  MakeEnd begin(std::shared_ptr<host::Shared> meeting) override {
    if (failed()) {
      abort();
      comms_ = start(library_, devices_);
    }
    return [meeting = std::move(meeting), comms = comms_,
            parts = std::make_shared<Parts>(static_cast<int>(devices_.size()))](int rank) {
      const auto& comm = comms[static_cast<std::size_t>(rank)];
      cuda::check(cudaSetDevice(comm->device()), "cudaSetDevice", comm->device());
      return std::make_unique<NcclCommunicator>(
          std::make_unique<host::HostCommunicator>(meeting, rank), parts, comm);
    };
  }

 private:
  [[nodiscard]] bool failed() const {
    return std::any_of(comms_.begin(), comms_.end(),
                       [](const auto& comm) { return comm->aborted(); });
  }
  void abort() {
    for (const auto& comm : comms_) comm->abort();
  }

  std::vector<int> devices_;
  std::shared_ptr<const Library> library_;
  std::vector<std::shared_ptr<RankComm>> comms_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const std::vector<int>& devices) {
  return std::make_unique<NcclBackend>(devices);
}

}  // namespace nccl
}  // namespace ringside
