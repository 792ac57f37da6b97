// SPDX-License-Identifier: MIT
/// Following links, asking for permissions.
#include "ringside/base/target_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_to_write(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", quote(path, 200), why));
}

/// The kernel's rule (fs.protected_symlinks), which reading a link oneself goes round: in a folder
/// where all may make files and nobody may remove another's, only links of the folder's owner and
/// one's own are followed.
bool may_be_followed(const fs::path& link) {
  struct stat itself {
  }, folder{};
  const fs::path parent = link.has_parent_path() ? link.parent_path() : fs::path(".");
  if (::lstat(link.c_str(), &itself) != 0 || ::stat(parent.c_str(), &folder) != 0) return true;
  constexpr mode_t shared = S_ISVTX | S_IWOTH;
  return (folder.st_mode & shared) != shared || itself.st_uid == ::geteuid() ||
         itself.st_uid == folder.st_uid;
}

}  // namespace

std::string resolve_links(const std::string& path) {
  constexpr int most_links = 40;  // as the kernel follows
  std::error_code failed;
  fs::path target = path;
  for (int link = 0; fs::is_symlink(fs::symlink_status(target, failed)); ++link) {
    if (!may_be_followed(target))
      refuse_to_write(path,
                      fmt::format("{} is another user's link in a folder that all may write to",
                                  quote(target.string(), 200)));
    const fs::path next = fs::read_symlink(target, failed);
    if (failed || link == most_links) return path;
    target = target.parent_path() / next;  // an absolute one replaces all
  }
  return target.string();
}

void check_writable(const std::string& path) {
  std::error_code ignored;
  const auto refuse = [&](int error) {
    refuse_to_write(path, to_lower(std::generic_category().message(error)));
  };
  const auto status = fs::status(path, ignored);
  if (fs::is_directory(status)) refuse(EISDIR);
  if (path.ends_with('/')) refuse(ENOENT);
  // A file is replaced by another of its folder, anything else is written to.
  const bool replaced = fs::is_regular_file(status) || !fs::exists(status);
  const fs::path target = fs::absolute(resolve_links(path), ignored);
  const fs::path written = replaced ? target.parent_path() : target;
  if (replaced && !fs::is_directory(written, ignored)) refuse(ENOENT);
  if (::access(written.c_str(), replaced ? W_OK | X_OK : W_OK) != 0) refuse(errno);
}

}  // namespace ringside
