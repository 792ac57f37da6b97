// SPDX-License-Identifier: MIT
#include "ringside/trainer/data/idx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::trainer {
namespace {

/// Far above MNIST's largest relative, and little enough that a bomb does not fill the memory.
constexpr std::size_t longest = std::size_t{1} << 30U;

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", quote(path, 200), why));
}

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

/// zlib's words begin with the path.
std::string_view without_path(std::string_view words, const std::string& path) {
  const std::string prefix = path + ": ";
  if (words.starts_with(prefix)) words.remove_prefix(prefix.size());
  return words;
}

/// The whole file, unpacked if it is packed.
std::vector<std::uint8_t> unpacked(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, "it is a folder");
  errno = 0;
  const GzipFile file(gzopen(path.c_str(), "rb"));
  if (file == nullptr)
    throw Error(ErrorCode::io, fmt::format("cannot open {}: {}", quote(path, 200),
                                           std::generic_category().message(errno)));
  constexpr unsigned piece = 1U << 20U;
  std::vector<std::uint8_t> bytes;
  for (;;) {
    const std::size_t have = bytes.size();
    if (have > longest) refuse(path, "longer than 1 GiB when unpacked");
    bytes.resize(have + piece);
    const int got = gzread(file.get(), bytes.data() + have, piece);
    int code = Z_OK;
    const char* words = gzerror(file.get(), &code);
    // The end of the file inside of the packed data is told as a buffer error, with a short read.
    if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR)
      refuse(path, fmt::format("damaged or cut off: {}", without_path(words, path)));
    bytes.resize(have + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
  }
}

std::size_t big_endian(const std::uint8_t* bytes) {
  return std::size_t{bytes[0]} << 24U | std::size_t{bytes[1]} << 16U | std::size_t{bytes[2]} << 8U |
         bytes[3];
}

}  // namespace

IdxFile read_idx(const std::string& path, std::size_t dimensions) {
  constexpr std::uint8_t unsigned_bytes = 8;
  IdxFile file;
  file.bytes = unpacked(path);
  const auto& all = file.bytes;
  if (all.empty()) refuse(path, "it is empty");
  const std::size_t header = 4 + 4 * dimensions;
  const std::array<std::uint8_t, 4> magic = {0, 0, unsigned_bytes,
                                             static_cast<std::uint8_t>(dimensions)};
  if (all.size() < magic.size() || !std::equal(magic.begin(), magic.end(), all.begin()))
    refuse(path, fmt::format("no IDX file of bytes with {} dimension{}: it begins with {:02x}, not "
                             "{:02x}",
                             dimensions, dimensions == 1 ? "" : "s",
                             fmt::join(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(
                                                         std::min<std::size_t>(4, all.size())),
                                       " "),
                             fmt::join(magic, " ")));
  if (all.size() < header) refuse(path, "cut off in its header");
  std::size_t expected = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    file.sizes.push_back(big_endian(&all[4 + 4 * i]));
    if (file.sizes.back() != 0 && expected > longest / file.sizes.back())
      refuse(path, "its header says more than 1 GiB");
    expected *= file.sizes.back();
  }
  if (all.size() - header != expected)
    refuse(path, fmt::format("its header says {} bytes of data ({}), there are {}", expected,
                             fmt::join(file.sizes, " x "), all.size() - header));
  file.digest = sha256(std::as_bytes(std::span(all)));
  file.bytes.erase(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return file;
}

}  // namespace ringside::trainer
