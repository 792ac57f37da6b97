// SPDX-License-Identifier: MIT
#include "ringside/tests/fakecuda/exported.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <new>
#include <string>

namespace ringside::tests::fakecuda {
namespace {

constexpr std::uint64_t magic = 0x65786f7265646975;
constexpr std::size_t page = 4096;
constexpr std::size_t most_openers = 256;

/// Whether a process is there and has not ended.
bool lives(pid_t process) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), line);
  const auto end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] != 'Z' &&
         line[end + 2] != 'X';
}

}  // namespace

struct Exported::Notes {
  std::uint64_t number = 0;
  std::atomic<bool> freed{false};
  std::array<std::atomic<pid_t>, most_openers> openers{};
};

std::optional<ExportedName> ExportedName::of(const cudaIpcMemHandle_t& handle) {
  static_assert(sizeof(ExportedName) <= sizeof(handle));
  ExportedName name;
  std::memcpy(static_cast<void*>(&name), &handle, sizeof(name));
  if (name.magic != fakecuda::magic) return std::nullopt;
  return name;
}

cudaIpcMemHandle_t ExportedName::handle() const {
  ExportedName own = *this;
  own.magic = fakecuda::magic;
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, &own, sizeof(own));
  return handle;
}

std::optional<Exported> Exported::make(std::byte* base, std::size_t mapped) {
  static_assert(sizeof(Notes) <= page);
  static std::uint64_t exports = 0;  // under the runtime's lock
  Exported made;
  made.descriptor_ = ::memfd_create("fakecuda", MFD_CLOEXEC);
  if (made.descriptor_ < 0) return std::nullopt;
  const auto length = static_cast<off_t>(mapped + page);
  void* all = MAP_FAILED;
  if (::ftruncate(made.descriptor_, length) == 0)
    all = ::mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_SHARED, made.descriptor_, 0);
  if (all == MAP_FAILED) {
    ::close(made.descriptor_);
    return std::nullopt;
  }
  std::memcpy(all, base, mapped);
  ::munmap(all, mapped);
  made.notes_ = new (static_cast<std::byte*>(all) + mapped) Notes;
  made.notes_->number = made.number_ = ++exports;
  (void)::mmap(base, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, made.descriptor_, 0);
  made.base_ = base;
  made.mapped_ = mapped;
  return made;
}

std::optional<Exported> Exported::open(const ExportedName& name) {
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const std::size_t mapped = (name.bytes + page - 1) / page * page;
  void* const all =
      ::lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(mapped + page)
          ? ::mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
          : MAP_FAILED;
  ::close(descriptor);
  if (all == MAP_FAILED) return std::nullopt;
  Exported opened;
  opened.base_ = static_cast<std::byte*>(all);
  opened.mapped_ = mapped;
  opened.number_ = name.number;
  opened.notes_ = std::launder(reinterpret_cast<Notes*>(opened.base_ + mapped));
  if (opened.notes_->number == name.number && !opened.notes_->freed.load()) {
    for (auto& slot : opened.notes_->openers) {
      pid_t nobody = 0;
      if (slot.compare_exchange_strong(nobody, ::getpid())) return opened;
    }
  }
  opened.unmap();
  return std::nullopt;
}

std::vector<pid_t> Exported::openers() const {
  std::vector<pid_t> alive;
  for (const auto& slot : notes_->openers)
    if (const pid_t process = slot.load(); process != 0 && lives(process)) alive.push_back(process);
  return alive;
}

void Exported::set_freed() { notes_->freed.store(true); }

void Exported::leave() {
  for (auto& slot : notes_->openers) {
    pid_t own = ::getpid();
    if (slot.compare_exchange_strong(own, 0)) return;
  }
}

void Exported::unmap() {
  ::munmap(base_, mapped_);
  ::munmap(notes_, page);
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace ringside::tests::fakecuda
