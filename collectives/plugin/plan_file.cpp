// SPDX-License-Identifier: MIT
#include "ringside/collectives/plugin/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/plan_io.hpp"

namespace ringside {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

struct Files {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Plan>> plans;  // by absolute path
};

Files& files() {
  static Files& instance = never_destroyed<Files>();
  return instance;
}

/// A process may change its folder: a relative path means another file then.
std::string absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.string();
}

std::shared_ptr<const Plan> read_once(const std::string& path) {
  auto& [mutex, plans] = files();
  const std::lock_guard lock(mutex);
  auto& plan = plans[absolute(path)];
  if (!plan) plan = std::make_shared<const Plan>(read_plan_file(path));
  return plan;
}

/// The same ops for another request with the same blocks.
std::shared_ptr<const Plan> taken_for(const Plan& plan, const Request& request) {
  auto taken = std::make_shared<Plan>(request, plan.shape(), plan.spec());
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& slot : plan.scratch(rank)) taken->add_slot(rank, slot);
  for (std::size_t op = 0; op < plan.size(); ++op) taken->append(plan.op(op));
  return taken;
}

}  // namespace

Plan read_plan_file(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : quote(path, longest_path);
  Plan plan = plan_from_json(read_file(path), name);
  // It is printed; a terminal obeys control characters.
  if (std::any_of(plan.spec().begin(), plan.spec().end(), is_control))
    throw Error(ErrorCode::bad_input, fmt::format("{}: $.spec: it has a control character", name));
  return plan;
}

std::shared_ptr<const Plan> plan_of_file(const std::string& path, const Request& request) {
  validate(request);
  auto plan = read_once(path);
  if (plan->request() == request) return plan;
  Request other = plan->request();
  other.in_place = request.in_place;
  if (other == request && has_root(request.collective)) return taken_for(*plan, request);
  throw Error(ErrorCode::unsupported,
              fmt::format("{} is a plan for {}, not for {}", quote(path, longest_path),
                          describe(plan->request()), describe(request)));
}

}  // namespace ringside
