// SPDX-License-Identifier: MIT
/// The table that comes with the library, and the one that the option `tuning` names.
#include <map>
#include <mutex>

#include "ringside/base/file.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/host_default.hpp"

namespace ringside {
namespace {

std::shared_ptr<const TuningTable> read_table(const std::string& path) {
  auto table = std::make_shared<const TuningTable>(tuning_from_json(read_file(path), path));
  check_algorithms(*table);
  return table;
}

}  // namespace

const TuningTable& default_tuning() {
  static const TuningTable table = tuning_from_json(host_default_json, "default tuning");
  return table;
}

std::shared_ptr<const TuningTable> tuning_in_use() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TuningTable>> files;
  const auto path = option<std::string>("tuning");
  if (path.empty()) return {std::shared_ptr<void>(), &default_tuning()};
  const std::lock_guard lock(mutex);
  auto& table = files[path];
  if (!table) table = read_table(path);
  return table;
}

}  // namespace ringside
