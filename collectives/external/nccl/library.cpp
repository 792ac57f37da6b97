// SPDX-License-Identifier: MIT
#include "ringside/collectives/external/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/shared_library.hpp"
#include "ringside/base/text.hpp"

namespace ringside::nccl {
namespace {

// Averages and pre-multiplied sums came with it.
constexpr Version oldest{21000};

void* open_library(const std::string& path) {
  // RTLD_LOCAL: a program that is linked to another NCCL keeps its own.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("NCCL is not to be found: {} cannot be opened ({}); it comes with "
                            "NVIDIA's package libnccl2 or the Python package nvidia-nccl, and the "
                            "option nccl_library (RINGSIDE_NCCL_LIBRARY) says where it is",
                            quote(path, 200), last_library_error(path)));
  return handle;
}

template <class Function>
void look_up(void* handle, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, symbol));
}

Version version_of(const Functions& functions, const std::string& path) {
  Version version;
  if (functions.get_version == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} is no NCCL: it has no function ncclGetVersion", quote(path, 200)));
  if (functions.get_version(&version.code) != Result::success || version.code <= 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} does not tell its version", quote(path, 200)));
  if (version.code < oldest.code)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} is NCCL {}: {}.{} or later is needed", quote(path, 200),
                            version.text(), oldest.major(), oldest.minor()));
  return version;
}

}  // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major(), minor(), patch()); }

Library::Library(const std::string& path) {
  void* handle = open_library(path);
  look_up(handle, "ncclGetVersion", functions_.get_version);
  version_ = version_of(functions_, path);

  const auto demand = [&]<class Function>(const char* symbol, Function*& function) {
    look_up(handle, symbol, function);
    if (function == nullptr)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} says that it is {} but has no function {}", quote(path, 200),
                              name(), symbol));
  };
  demand("ncclCommInitAll", functions_.comm_init_all);
  demand("ncclCommDestroy", functions_.comm_destroy);
  demand("ncclCommAbort", functions_.comm_abort);
  demand("ncclCommGetAsyncError", functions_.comm_get_async_error);
  demand("ncclGetErrorString", functions_.get_error_string);
  demand("ncclGroupStart", functions_.group_start);
  demand("ncclGroupEnd", functions_.group_end);
  demand("ncclAllReduce", functions_.all_reduce);
  demand("ncclReduceScatter", functions_.reduce_scatter);
  demand("ncclAllGather", functions_.all_gather);
  demand("ncclBroadcast", functions_.broadcast);
  demand("ncclReduce", functions_.reduce);
  demand("ncclSend", functions_.send);
  demand("ncclRecv", functions_.recv);
  demand("ncclRedOpCreatePreMulSum", functions_.red_op_create_pre_mul_sum);
  demand("ncclRedOpDestroy", functions_.red_op_destroy);
  look_up(handle, "ncclGetLastError", functions_.get_last_error);
  look_up(handle, "ncclCommSplit", functions_.comm_split);
}

std::shared_ptr<const Library> Library::open() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Library>> opened;
  const std::string path = option<std::string>("nccl_library");
  const std::lock_guard lock(mutex);
  auto& library = opened[path];
  if (!library) library = std::make_shared<const Library>(path);
  return library;
}

std::string Library::words(Result result, Comm comm) const {
  const char* string = functions_.get_error_string(result);
  std::string text =
      string != nullptr ? string : fmt::format("result {}", static_cast<int>(result));
  const char* last =
      functions_.get_last_error != nullptr ? functions_.get_last_error(comm) : nullptr;
  if (last != nullptr && *last != '\0') text += fmt::format(" ({})", last);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace ringside::nccl
