// SPDX-License-Identifier: MIT
/// Reading with a limit, writing by rename.
#include "ringside/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/target_file.hpp"
#include "ringside/base/text.hpp"

namespace ringside {

namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// False when the system reports, only now, that something was not written.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

[[noreturn]] void fail(std::string_view action, std::string_view name) {
  const std::string reason = std::generic_category().message(errno);
  throw Error(ErrorCode::io, fmt::format("cannot {} {}: {}", action, name, to_lower(reason)));
}

std::string read_all(int fd, std::string_view name, std::size_t limit) {
  constexpr std::size_t step = std::size_t{1} << 16;
  std::string contents;
  limit = std::min(limit, contents.max_size() - 1);
  for (std::size_t size = 0;;) {
    // One byte more than allowed, to tell "exactly the limit" from "too large".
    contents.resize(std::min(size + std::max(size, step), limit + 1));
    const ssize_t got = ::read(fd, contents.data() + size, contents.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", name);
    size += static_cast<std::size_t>(got);
    if (size > limit)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} is larger than the limit of {}", name, format_bytes(limit)));
    if (got == 0) {
      contents.resize(size);
      return contents;
    }
  }
}

void write_all(int fd, std::string_view contents, std::string_view name) {
  while (!contents.empty()) {
    const ssize_t put = ::write(fd, contents.data(), contents.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", name);
    contents.remove_prefix(static_cast<std::size_t>(put));
  }
}

/// Removes the temporary unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& beside)
      : path_(beside + ".XXXXXX"), file_(::mkostemp(path_.data(), O_CLOEXEC)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_created_ && !renamed_) ::unlink(path_.c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  Descriptor& file() { return file_; }
  void mark_renamed() { renamed_ = true; }

 private:
  std::string path_;
  Descriptor file_;
  bool file_created_ = file_.valid();
  bool renamed_ = false;
};

/// What a new file is allowed, or what the replaced one had if it was ours; mkstemp gives 0600.
mode_t wanted_mode(const struct stat* replaced) {
  if (replaced != nullptr && replaced->st_uid == ::geteuid()) return replaced->st_mode & 0777U;
  const mode_t mask = ::umask(0);  // it cannot be read without setting it
  ::umask(mask);
  return 0666U & ~mask;
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input", limit);
  const std::string name = quote(path, 200);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) fail("open", name);
  return read_all(file.get(), name, limit);
}

void write_file(const std::string& path, std::string_view contents) {
  if (path == "-") return write_all(STDOUT_FILENO, contents, "standard output");
  const std::string name = quote(path, 200);

  const std::string target = resolve_links(path);  // refuses another user's link, whatever is there
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.valid()) fail("open", name);
    write_all(file.get(), contents, name);
    if (!file.close()) fail("write", name);
    return;
  }

  TemporaryFile temporary(target);
  if (!temporary.file().valid()) fail("create a file beside", name);
  write_all(temporary.file().get(), contents, name);
  if (::fchmod(temporary.file().get(), wanted_mode(exists ? &old : nullptr)) != 0)
    fail("set the mode of", name);
  // Without this, a crash of the machine after the rename may leave an empty file.
  if (::fsync(temporary.file().get()) != 0 || !temporary.file().close()) fail("write", name);
  if (std::rename(temporary.path().c_str(), target.c_str()) != 0) fail("replace", name);
  temporary.mark_renamed();
}

}  // namespace ringside
