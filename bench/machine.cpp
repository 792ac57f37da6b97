// SPDX-License-Identifier: MIT
#include "ringside/bench/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/source_commit.hpp"  // made by the build
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::bench {
namespace {

/// A small system file, or nothing: these facts are good to have, not needed.
std::optional<std::string> system_file(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The text behind "name" and a colon, as /proc writes it.
std::optional<std::string> field(const std::optional<std::string>& file, std::string_view name) {
  if (!file) return std::nullopt;
  for (const auto line : split(*file, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == name)
      return std::string(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

/// "24000000 kB" of /proc/meminfo, in bytes.
std::optional<std::uint64_t> meminfo_bytes(std::string_view name) {
  const auto text = field(system_file("/proc/meminfo"), name);
  if (!text) return std::nullopt;
  const auto words = split_blanks(*text);
  const auto kib = words.empty() ? std::nullopt : parse_int(words.front());
  if (!kib) return std::nullopt;
  return static_cast<std::uint64_t>(*kib) * 1024;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = system_file(path);
  const auto number = text ? parse_int(trim(*text)) : std::nullopt;
  if (!number) return std::nullopt;  // "max": no limit
  return static_cast<std::uint64_t>(*number);
}

/// What the control group of a container leaves (versions 2 and 1).
std::optional<std::uint64_t> control_group_leaves() {
  struct Files {
    const char *limit, *used;
  };
  for (const auto& [limit_file, used_file] :
       {Files{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        Files{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
              "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    const auto limit = number_in(limit_file);
    const auto used = number_in(used_file);
    if (limit && used) return *limit - std::min(*limit, *used);
  }
  return std::nullopt;
}

}  // namespace

std::string utc_now() {
  return fmt::format(
      "{:%Y-%m-%dT%H:%M:%S}Z",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

Machine read_machine() {
  Machine machine;
  char name[256] = {};
  machine.host_name = ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
  const auto cpuinfo = system_file("/proc/cpuinfo");
  machine.processor = field(cpuinfo, "model name").value_or("unknown");
  machine.cores = static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
  machine.allowed_cores = allowed_cpu_count();
  machine.memory = meminfo_bytes("MemTotal").value_or(0);
  utsname system = {};
  machine.kernel =
      ::uname(&system) == 0 ? fmt::format("{} {}", system.sysname, system.release) : "unknown";
#if defined(__clang__)
  machine.compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  machine.compiler = "gcc " __VERSION__;
#else
  machine.compiler = "unknown";
#endif
  machine.kernels = fold_isa();
  machine.version = RINGSIDE_VERSION;
  machine.source_commit = source_commit;
  return machine;
}

std::uint64_t available_memory() {
  const auto system = meminfo_bytes("MemAvailable");
  const auto group = control_group_leaves();
  if (!system) return group.value_or(0);
  return std::min(*system, group.value_or(*system));
}

}  // namespace ringside::bench
