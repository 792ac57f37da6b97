// SPDX-License-Identifier: MIT
/// Memory that devices can reach. Sizes are exact and contents rubbish, so that overruns and reads
/// of what nobody wrote show; with the address sanitizer device memory is poisoned except while an
/// operation that declared its use runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/tests/fakecuda/exported.hpp"
#include "ringside/tests/fakecuda/operation.hpp"

namespace ringside::tests::fakecuda {

enum class MemoryKind { device, pinned, registered };

/// Who touches memory, as reports describe it.
struct Actor {
  const char* kind = "";         ///< "kernel", "copy", ...
  const char* kernel = nullptr;  ///< its name
  int device = host;
  std::uint64_t stream = 0;
  bool in_graph = false;
  std::uint64_t issue = 0;
};

/// Bytes touched by an operation that is over when lane number `lane` has come to `index`.
struct AccessRecord {
  std::uintptr_t begin, end;
  std::uint32_t lane, index;
  bool writes;
  [[nodiscard]] bool touches(const AccessRecord& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// Past accesses in no order, and who made them; apart, as few are ever described.
class History {
 public:
  void add(const AccessRecord& record, const Actor& actor) {
    records_.push_back(record);
    actors_.push_back(actor);
  }
  /// The last one takes its place.
  void remove(std::size_t i) {
    records_[i] = records_.back();
    actors_[i] = actors_.back();
    records_.pop_back();
    actors_.pop_back();
  }
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] AccessRecord& operator[](std::size_t i) { return records_[i]; }
  [[nodiscard]] const Actor& actor(std::size_t i) const { return actors_[i]; }

  std::uint64_t pruned_at = 0;  ///< what the host knew when it was looked through last

 private:
  std::vector<AccessRecord> records_;
  std::vector<Actor> actors_;
};

struct Allocation {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  int device = host;  ///< owner; of pinned memory: whose context made it
  unsigned flags = 0;
  History history;
  std::optional<Exported> exported;  ///< of device memory that processes share
  ExportedName name;                 ///< of what is another process's: its handle,
  int opener = host;                 ///< the device that opened it,
  unsigned opened = 0;               ///< and how often

  [[nodiscard]] std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base); }
  [[nodiscard]] std::uintptr_t end() const { return begin() + bytes; }
  [[nodiscard]] bool on_device() const { return kind == MemoryKind::device; }
  /// Whether it is another process's.
  [[nodiscard]] bool is_foreign() const { return opener != host; }
};

class Memory {
 public:
  ~Memory() { clear(); }
  void clear();

  /// nullptr: the host has no more. `bytes` > 0.
  Allocation* allocate(MemoryKind kind, int device, std::size_t bytes);
  /// Host memory that exists already. nullptr: it overlaps with something known.
  Allocation* adopt(void* base, std::size_t bytes, int device);
  /// Makes device memory such that other processes can map it; false if the system refuses.
  [[nodiscard]] bool share(Allocation& allocation);
  /// Memory of another process that a device of this one opens. nullptr: it is gone.
  Allocation* open(const ExportedName& name, int opener);
  /// What such a device has open already.
  [[nodiscard]] Allocation* find_foreign(const ExportedName& name, int opener);
  /// Gives the memory back, or keeps it until `clear` where something may still touch it.
  void release(Allocation& allocation, bool keep);

  /// Gives back all memory of a device, and host memory that its context made.
  void release_device(int device);

  /// What holds this address; nullptr: nothing known.
  [[nodiscard]] Allocation* find(const void* address);
  [[nodiscard]] std::size_t used(int device) const;
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  std::map<std::uintptr_t, Allocation> allocations_;  ///< by base
  std::vector<Allocation> kept_;
  unsigned char rubbish_ = 0;
};

/// Lifts the poison from what an operation declared, as long as it lives.
class Unpoisoned {
 public:
  Unpoisoned(Memory& memory, const std::vector<Access>& accesses);
  ~Unpoisoned();
  Unpoisoned(const Unpoisoned&) = delete;
  Unpoisoned& operator=(const Unpoisoned&) = delete;

 private:
  Memory& memory_;
  const std::vector<Access>& accesses_;
};

}  // namespace ringside::tests::fakecuda
