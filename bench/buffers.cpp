// SPDX-License-Identifier: MIT
#include "ringside/bench/buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {

PageBuffer::PageBuffer(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  void* mapped =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(ErrorCode::io, fmt::format("no memory for a buffer of {}: {}", format_bytes(bytes),
                                           std::generic_category().message(errno)));
  if (bytes_ >= huge_page) ::madvise(mapped, bytes_, MADV_HUGEPAGE);  // advice: may be refused
  data_ = static_cast<std::byte*>(mapped);
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace ringside::bench
