// SPDX-License-Identifier: MIT
/// How a test steers and questions a fake libnccl, whose functions do what NCCL's do, on whatever
/// CUDA runtime the process has.
///
/// Where the real library would wait, compute or write wrongly, the fake says what was wrong: see
/// `misuses`.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace ringside::tests::fakenccl {

/// A call that was launched in a stream.
struct Launched {
  std::string function;  ///< "ncclAllReduce"
  int rank = 0;
  std::size_t count = 0;
  int type = 0;
  int reduction = 0;
  int peer = 0;  ///< or root
  void* stream = nullptr;
};

class Control {
 public:
  /// Of the library at this path, which the program under test opens, too.
  static Control& of(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    using Finder = Control* (*)();
    const auto find = reinterpret_cast<Finder>(dlsym(handle, "fakenccl_control"));
    if (find == nullptr) throw std::runtime_error(path + " is no fake");
    return *find();
  }

  /// Nothing is planned, and counters start again. Communicators stay.
  virtual void reset() = 0;
  /// Communicators cannot be made, as on a machine without a driver.
  virtual void set_no_device(bool none) = 0;
  /// The n-th call since the reset, counted from 1, does nothing and returns `result`. 0: none.
  /// Counted is every call but those that ask for a version, a state or an error's words.
  virtual void fail_call(int n, int result) = 0;
  [[nodiscard]] virtual int calls() const = 0;
  /// Names of the calls counted, in their order.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// What rank 0 launches from now on never ends, until a communicator is aborted; if `error` is
  /// not 0, its communicator's state is that error then. Needs a double of CUDA on which copies
  /// from device 0 to device 1 hang.
  virtual void hang(bool hangs, int error = 0) = 0;

  /// As with NCCL_COMM_BLOCKING=0: what a call begins goes on after it, until the communicator's
  /// state has been asked for a few times.
  virtual void set_unblocking(bool unblocking) = 0;

  [[nodiscard]] virtual std::vector<Launched> launched() const = 0;
  /// Communicators, and operators of theirs, that have not been given back.
  [[nodiscard]] virtual int alive() const = 0;
  /// How many communicators have been aborted.
  [[nodiscard]] virtual int aborted() const = 0;
  /// What should never have been asked for, one line each.
  [[nodiscard]] virtual std::vector<std::string> misuses() const = 0;

 protected:
  ~Control() = default;
};

}  // namespace ringside::tests::fakenccl
