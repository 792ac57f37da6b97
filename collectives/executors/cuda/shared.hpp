// SPDX-License-Identifier: MIT
/// What the ranks of a communicator on GPUs share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/cuda/devices.hpp"
#include "ringside/collectives/executors/cuda/issuer.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/planned_machine.hpp"

namespace ringside::cuda {

class Shared {
 public:
  /// Of the ranks that meet in `meeting`. Throws Error(device).
  Shared(std::shared_ptr<host::Shared> meeting, std::shared_ptr<const Devices> devices);

  [[nodiscard]] const std::shared_ptr<host::Shared>& meeting() const { return meeting_; }
  [[nodiscard]] int ranks() const { return meeting_->ranks(); }
  [[nodiscard]] int device_of(int rank) const {
    return device_of_rank_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const AccessMatrix& access() const { return access_; }
  [[nodiscard]] PlanCache& plans() { return plans_; }
  /// What `auto` takes where nobody measured, for a backend of so many cores; `tuning` first.
  [[nodiscard]] Choice choice_for(const TuningTable& tuning, int cores, const Request& request,
                                  std::size_t bytes) const;
  /// PlannedMachine::explain of the ranks' GPUs; nothing without a machine.
  [[nodiscard]] std::string on_machine(const Request& request, std::size_t bytes,
                                       const std::string& spec) const {
    return planned_ ? planned_->explain(planned_gpus_, request, bytes, spec) : std::string();
  }
  [[nodiscard]] Issuer& issuer() { return issuer_; }

  /// Rank 0 says that it has issued a call, or why it has not; of every call that it has entered.
  void set_issued(std::uint64_t call, std::optional<Error> refused);
  [[nodiscard]] bool is_issued(std::uint64_t call) const {
    return issued_.load(std::memory_order_acquire) >= call;
  }
  /// Why a call that is_issued was not. Two suffice: rank 0 may answer the next call before all
  /// have read this answer, but enters the one after that only when all have met in the next.
  [[nodiscard]] const std::optional<Error>& refused(std::uint64_t call) const {
    return refused_[call & 1];
  }

  /// Where a rank keeps the stream of a call while peers may look at it: longer than the rank may
  /// wait for them.
  [[nodiscard]] void*& stream_of(int rank) { return streams_[static_cast<std::size_t>(rank)]; }

  /// The error of a rank's device that has failed, if that is known now.
  [[nodiscard]] std::optional<Error> failed_device() const;

  /// What the ranks of a part share; the first of them to ask makes it.
  [[nodiscard]] std::shared_ptr<Shared> child(const std::shared_ptr<host::Shared>& meeting);

 private:
  std::shared_ptr<host::Shared> meeting_;
  std::shared_ptr<const Devices> devices_;
  std::vector<int> device_of_rank_;
  AccessMatrix access_;
  std::shared_ptr<PlannedMachine> planned_;  // null: none
  std::vector<int> planned_gpus_;            // by rank
  PlanCache plans_;
  Issuer issuer_;
  std::vector<Event> probes_;  // one on every device, of nothing: only the device can fail them
  std::atomic<std::uint64_t> issued_{0};
  std::array<std::optional<Error>, 2> refused_;  // by parity of the call
  std::vector<void*> streams_;                   // by rank
  std::mutex children_mutex_;
  std::map<host::Shared*, std::weak_ptr<Shared>> children_;
};

}  // namespace ringside::cuda
