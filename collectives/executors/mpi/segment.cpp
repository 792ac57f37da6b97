// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside::mpi {
namespace {

constexpr std::size_t page = 4096;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno)));
}

std::size_t whole_pages(std::size_t bytes) {
  return std::max(bytes + page - 1, page) / page * page;
}

}  // namespace

Segment::Segment(int descriptor, std::size_t bytes) : size_(bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int cause = errno;
    ::close(descriptor);
    errno = cause;
    refuse(fmt::format("cannot map {} bytes of shared memory (see the option mpi_memory)", bytes));
  }
  data_ = static_cast<std::byte*>(mapped);
  descriptor_ = descriptor;
}

Segment Segment::create(std::size_t bytes) {
  const int descriptor = ::memfd_create("ringside", MFD_CLOEXEC);
  if (descriptor < 0) refuse("cannot make shared memory");
  // It has no name, but /proc shows it to whom its mode allows; and its mode is for all at first.
  if (::fchmod(descriptor, S_IRUSR | S_IWUSR) != 0 ||
      ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    ::close(descriptor);
    refuse(fmt::format("cannot reserve {} bytes of shared memory", bytes));
  }
  return {descriptor, bytes};
}

Segment Segment::attach(int process, int descriptor, std::size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) refuse(fmt::format("cannot open the shared memory of process {}", process));
  Segment segment(opened, bytes);
  ::close(std::exchange(segment.descriptor_, -1));
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Segment::~Segment() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Arena::Arena(Segment segment) : segment_(std::move(segment)) { free_[0] = segment_.size(); }

std::shared_ptr<std::byte> Arena::allocate(const std::shared_ptr<Arena>& arena, std::size_t bytes) {
  bytes = whole_pages(bytes);
  const std::size_t offset = arena->take(bytes);
  return {arena->segment_.data() + offset,
          [arena, offset, bytes](std::byte*) { arena->give_back(offset, bytes); }};
}

std::size_t Arena::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& piece) { return piece.second >= bytes; });
  if (found == free_.end())
    throw Error(
        ErrorCode::io,
        fmt::format("no {} bytes of shared memory are left (see the option mpi_memory)", bytes));
  const auto [offset, length] = *found;
  free_.erase(found);
  if (length > bytes) free_[offset + bytes] = length - bytes;
  return offset;
}

void Arena::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void Arena::give_back(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  // The memory goes back to the system, and what is taken next reads as zero.
  ::fallocate(segment_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(bytes));
  auto at = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(at);
      next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at == free_.begin()) return;
  if (const auto before = std::prev(at); before->first + before->second == at->first) {
    before->second += at->second;
    free_.erase(at);
  }
}

}  // namespace ringside::mpi
