// SPDX-License-Identifier: MIT
/// Allocations and their lookup.
#include "ringside/tests/fakecuda/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace ringside::tests::fakecuda {
namespace {

/// What cudaMalloc promises at least (CUDA C++ Programming Guide, device memory accesses).
constexpr std::size_t alignment = 256;

/// Device memory is whole pages of its own, so that it can become a file's when it is shared.
std::size_t mapped_bytes(const Allocation& allocation) {
  constexpr std::size_t page = 4096;
  return (allocation.bytes + page - 1) / page * page;
}

void give_back(Allocation& allocation) {
  if (allocation.kind == MemoryKind::registered) return;
  if (!allocation.on_device()) {
    std::free(allocation.base);
    return;
  }
  ASAN_UNPOISON_MEMORY_REGION(allocation.base, mapped_bytes(allocation));
  if (!allocation.exported) {
    ::munmap(allocation.base, mapped_bytes(allocation));
    return;
  }
  if (allocation.is_foreign())
    allocation.exported->leave();
  else
    allocation.exported->set_freed();
  allocation.exported->unmap();
}

void* allocate_host(std::size_t bytes) {
  void* base = nullptr;
  return posix_memalign(&base, alignment, bytes) == 0 ? base : nullptr;
}

void* map_device(std::size_t bytes) {
  void* const base =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base != MAP_FAILED ? base : nullptr;
}

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
      return "device memory";
    case MemoryKind::pinned:
      return "pinned memory";
    case MemoryKind::registered:
      return "registered memory";
  }
  return "";
}

}  // namespace

void Memory::clear() {
  for (auto& [base, allocation] : allocations_) give_back(allocation);
  for (Allocation& allocation : kept_) give_back(allocation);
  allocations_.clear();
  kept_.clear();
}

Allocation* Memory::allocate(MemoryKind kind, int device, std::size_t bytes) {
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.device = device;
  void* const base =
      allocation.on_device() ? map_device(mapped_bytes(allocation)) : allocate_host(bytes);
  if (base == nullptr) return nullptr;
  // Another byte each time: what is never written differs between buffers and is no number of ours.
  std::memset(base, 0x81 + (rubbish_++ % 64), bytes);
  allocation.base = static_cast<std::byte*>(base);
  if (allocation.on_device()) ASAN_POISON_MEMORY_REGION(base, mapped_bytes(allocation));
  const auto begin = allocation.begin();
  return &(allocations_[begin] = std::move(allocation));
}

Allocation* Memory::adopt(void* base, std::size_t bytes, int device) {
  Allocation allocation;
  allocation.base = static_cast<std::byte*>(base);
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::registered;
  allocation.device = device;
  auto next = allocations_.lower_bound(allocation.begin());
  if (next != allocations_.end() && next->first < allocation.end()) return nullptr;
  if (next != allocations_.begin() && std::prev(next)->second.end() > allocation.begin())
    return nullptr;
  const auto begin = allocation.begin();
  return &(allocations_[begin] = std::move(allocation));
}

bool Memory::share(Allocation& allocation) {
  if (allocation.exported) return true;
  const std::size_t mapped = mapped_bytes(allocation);
  ASAN_UNPOISON_MEMORY_REGION(allocation.base, mapped);
  allocation.exported = Exported::make(allocation.base, mapped);
  ASAN_POISON_MEMORY_REGION(allocation.base, mapped);
  return allocation.exported.has_value();
}

Allocation* Memory::open(const ExportedName& name, int opener) {
  Allocation allocation;
  allocation.exported = Exported::open(name);
  if (!allocation.exported) return nullptr;
  allocation.base = allocation.exported->base();
  allocation.bytes = name.bytes;
  allocation.device = name.device;
  allocation.name = name;
  allocation.opener = opener;
  allocation.opened = 1;
  ASAN_POISON_MEMORY_REGION(allocation.base, mapped_bytes(allocation));
  const auto begin = allocation.begin();
  return &(allocations_[begin] = std::move(allocation));
}

Allocation* Memory::find_foreign(const ExportedName& name, int opener) {
  for (auto& [base, allocation] : allocations_)
    if (allocation.is_foreign() && allocation.opener == opener &&
        allocation.name.process == name.process && allocation.name.number == name.number)
      return &allocation;
  return nullptr;
}

void Memory::release(Allocation& allocation, bool keep) {
  const auto begin = allocation.begin();
  if (keep)
    kept_.push_back(std::move(allocation));
  else
    give_back(allocation);
  allocations_.erase(begin);
}

void Memory::release_device(int device) {
  for (auto next = allocations_.begin(); next != allocations_.end();) {
    const Allocation& allocation = next->second;
    if ((allocation.is_foreign() ? allocation.opener : allocation.device) == device) {
      kept_.push_back(std::move(next->second));  // a queued operation may still run
      next = allocations_.erase(next);
    } else {
      ++next;
    }
  }
}

Allocation* Memory::find(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return nullptr;
  Allocation& candidate = std::prev(next)->second;
  return at < candidate.end() ? &candidate : nullptr;
}

std::size_t Memory::used(int device) const {
  std::size_t bytes = 0;
  for (const auto& [base, allocation] : allocations_)
    if (allocation.on_device() && !allocation.is_foreign() && allocation.device == device)
      bytes += allocation.bytes;
  return bytes;
}

std::vector<std::string> Memory::list() const {
  std::vector<std::string> lines;
  for (const auto& [base, allocation] : allocations_) {
    std::ostringstream line;
    line << name_of(allocation.kind) << ": " << allocation.bytes << " bytes at "
         << static_cast<const void*>(allocation.base) << ", device " << allocation.device
         << (allocation.is_foreign() ? ", open from another process" : "");
    lines.push_back(line.str());
  }
  return lines;
}

Unpoisoned::Unpoisoned(Memory& memory, const std::vector<Access>& accesses)
    : memory_(memory), accesses_(accesses) {
  for (const Access& access : accesses_) ASAN_UNPOISON_MEMORY_REGION(access.address, access.bytes);
}

Unpoisoned::~Unpoisoned() {
#if defined(__SANITIZE_ADDRESS__)
  for (const Access& access : accesses_) {
    Allocation* allocation = memory_.find(access.address);
    if (allocation != nullptr && allocation->on_device())
      ASAN_POISON_MEMORY_REGION(allocation->base, allocation->bytes);
  }
#else
  (void)memory_;
#endif
}

}  // namespace ringside::tests::fakecuda
