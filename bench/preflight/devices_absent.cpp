// SPDX-License-Identifier: MIT
/// The devices of a build without CUDA.
#include "ringside/base/error.hpp"
#include "ringside/bench/preflight/devices.hpp"

namespace ringside::bench::preflight {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "this build has no CUDA: no nvcc was found when it was configured");
}

}  // namespace

struct Devices::Parts {};

Devices::Devices() = default;
Devices::~Devices() = default;
Facts Devices::facts() { refuse(); }
void Devices::open(int) { refuse(); }
Outcome Devices::run(const Step&) { refuse(); }

}  // namespace ringside::bench::preflight
