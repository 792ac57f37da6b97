// SPDX-License-Identifier: MIT
/// Device memory that another process opens. The other process is this executable again, with one
/// test that does what it is asked.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "ringside/tests/cuda_contract/contract.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {
namespace {

using IpcContract = Contract;

constexpr std::size_t elements = 1000;
constexpr int asks = 3, answers = 4;  // descriptors of the other process

struct Question {
  enum class What : int { open, close, fill, read, release } what = What::open;
  int argument = 0;
  std::uint64_t address = 0;
  cudaIpcMemHandle_t handle = {};
};
struct Answer {
  int error = 0;
  int value = 0;
  std::uint64_t address = 0;
};

class OtherProcess {
 public:
  OtherProcess() {
    std::array<int, 2> to{}, from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      // Behind all that is to be replaced, first.
      const int in = ::fcntl(to[0], F_DUPFD, 10), out = ::fcntl(from[1], F_DUPFD, 10);
      const int silence = ::open("/dev/null", O_WRONLY);
      ::dup2(in, asks);
      ::dup2(out, answers);
      ::dup2(silence, STDOUT_FILENO);
      ::execl("/proc/self/exe", "other_process", "--gtest_also_run_disabled_tests",
              "--gtest_filter=IpcContract.DISABLED_TheOtherProcess", nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    out_ = to[1];
    in_ = from[0];
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { (void)end(); }

  Answer ask(const Question& question) {
    Answer answer{-1, -1, 0};
    EXPECT_EQ(::write(out_, &question, sizeof(question)), static_cast<ssize_t>(sizeof(question)));
    EXPECT_EQ(::read(in_, &answer, sizeof(answer)), static_cast<ssize_t>(sizeof(answer)));
    return answer;
  }
  Answer open(const cudaIpcMemHandle_t& handle, int flags = cudaIpcMemLazyEnablePeerAccess) {
    return ask({Question::What::open, flags, 0, handle});
  }
  int close(std::uint64_t address) { return ask({Question::What::close, 0, address, {}}).error; }
  void kill() const { ::kill(process_, SIGKILL); }
  /// Its exit status.
  int end() {
    if (process_ <= 0) return -1;
    ::close(out_);
    ::close(in_);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
  int out_ = -1, in_ = -1;
};

cudaIpcMemHandle_t handle_of(void* base) {
  cudaIpcMemHandle_t handle{};
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, base), cudaSuccess);
  return handle;
}

TEST_F(IpcContract, DISABLED_TheOtherProcess) {
  if (::fcntl(asks, F_GETFD) == -1) GTEST_SKIP() << "for the other tests";
  Question question;
  while (::read(asks, &question, sizeof(question)) == static_cast<ssize_t>(sizeof(question))) {
    Answer answer;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it came through a pipe
    void* address = reinterpret_cast<void*>(question.address);
    auto* data = static_cast<std::int32_t*>(address);
    switch (question.what) {
      case Question::What::open:
        answer.error = cudaIpcOpenMemHandle(&address, question.handle,
                                            static_cast<unsigned>(question.argument));
        answer.address = reinterpret_cast<std::uint64_t>(address);
        break;
      case Question::What::close:
        answer.error = cudaIpcCloseMemHandle(address);
        break;
      case Question::What::fill:
        fill(data, question.argument, elements, nullptr);
        answer.error = cudaDeviceSynchronize();
        break;
      case Question::What::read:
        answer.value = contents(data, elements).back();
        break;
      case Question::What::release:
        answer.error = cudaFree(address);
        break;
    }
    (void)cudaGetLastError();
    ASSERT_EQ(::write(answers, &answer, sizeof(answer)), static_cast<ssize_t>(sizeof(answer)));
  }
}

TEST_F(IpcContract, WhatOneProcessWritesTheOtherReads) {
  std::int32_t* data = device_memory(elements);
  fill(data, 7, elements, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  OtherProcess other;
  const Answer opened = other.open(handle_of(data));
  ASSERT_EQ(opened.error, cudaSuccess);
  EXPECT_EQ(other.ask({Question::What::read, 0, opened.address, {}}).value, 7);
  EXPECT_EQ(other.ask({Question::What::fill, 9, opened.address, {}}).error, cudaSuccess);
  EXPECT_EQ(contents(data, elements), std::vector<std::int32_t>(elements, 9));
  fill(data, 11, elements, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(other.ask({Question::What::read, 0, opened.address, {}}).value, 11);
  EXPECT_EQ(other.close(opened.address), cudaSuccess);
  EXPECT_EQ(other.end(), 0);
  EXPECT_EQ(contents(data, elements).back(), 11);
}

TEST_F(IpcContract, OpenedTwiceItIsTheSameMemoryUntilItIsClosedTwice) {
  std::int32_t* data = device_memory(elements);
  fill(data, 3, elements, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  OtherProcess other;
  const auto handle = handle_of(data);
  const Answer first = other.open(handle), second = other.open(handle);
  ASSERT_EQ(first.error, cudaSuccess);
  ASSERT_EQ(second.error, cudaSuccess);
  EXPECT_EQ(first.address, second.address);
  EXPECT_EQ(other.close(first.address), cudaSuccess);
  EXPECT_EQ(other.ask({Question::What::read, 0, first.address, {}}).value, 3);
  EXPECT_EQ(other.close(first.address), cudaSuccess);
  EXPECT_NE(other.close(first.address), cudaSuccess);
}

TEST_F(IpcContract, AProcessDoesNotOpenItsOwnMemory) {
  void* address = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&address, handle_of(device_memory(elements)),
                                                 cudaIpcMemLazyEnablePeerAccess);
  EXPECT_NE(error, cudaSuccess);
  observe("a memory handle of the own process", error);
}

TEST_F(IpcContract, AnotherAllocationHasAnotherHandle) {
  void* address = nullptr;
  ASSERT_EQ(cudaMalloc(&address, elements * sizeof(std::int32_t)), cudaSuccess);
  const void* const before = address;
  const auto first = handle_of(address);
  ASSERT_EQ(cudaFree(address), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&address, elements * sizeof(std::int32_t)), cudaSuccess);
  observe("memory at the same address again", address == before ? 1 : 0);
  const auto second = handle_of(address);
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
  OtherProcess other;
  const Answer stale = other.open(first);
  observe("a handle of memory that was freed", static_cast<cudaError_t>(stale.error));
  if (stale.error == cudaSuccess) {
    EXPECT_EQ(other.close(stale.address), cudaSuccess);
  }
  EXPECT_EQ(other.end(), 0);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
}

TEST_F(IpcContract, WhatIsNoBaseOfDeviceMemoryHasNoHandle) {
  cudaIpcMemHandle_t handle{};
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
  EXPECT_NE(cudaIpcGetMemHandle(&handle, pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  int local = 0;
  EXPECT_NE(cudaIpcGetMemHandle(&handle, &local), cudaSuccess);
  observe("a handle of an address inside an allocation",
          cudaIpcGetMemHandle(&handle, device_memory(elements) + 1));
}

TEST_F(IpcContract, MemoryOfAnotherProcessIsClosedAndNotFreed) {
  OtherProcess other;
  const auto handle = handle_of(device_memory(elements));
  observe("opening with flags 0", static_cast<cudaError_t>(other.open(handle, 0).error));
  const Answer opened = other.open(handle);
  ASSERT_EQ(opened.error, cudaSuccess);
  EXPECT_NE(other.ask({Question::What::release, 0, opened.address, {}}).error, cudaSuccess);
  EXPECT_EQ(other.close(opened.address), cudaSuccess);
}

TEST_F(IpcContract, TheDoubleTellsOfMemoryThatIsFreedWhileAnotherHasItOpen) {
  if (!on_double()) GTEST_SKIP() << "what a device does is undefined";
  for (const bool killed : {false, true}) {
    void* address = nullptr;
    ASSERT_EQ(cudaMalloc(&address, 100), cudaSuccess);
    OtherProcess other;
    ASSERT_EQ(other.open(handle_of(address)).error, cudaSuccess);
    if (killed) {
      other.kill();
      (void)other.end();
    }
    EXPECT_EQ(cudaFree(address), cudaSuccess);
    const auto reports = fakecuda::Control::take_reports();
    ASSERT_EQ(reports.size(), killed ? 0u : 1u);
    if (!killed) {
      EXPECT_NE(reports[0].text.find("another process has open"), std::string::npos)
          << reports[0].text;
    }
  }
}

}  // namespace
}  // namespace ringside::tests
