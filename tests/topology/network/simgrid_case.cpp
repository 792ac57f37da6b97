// SPDX-License-Identifier: MIT
/// Every resource becomes a link, every flow an actor that waits for others, sleeps through its
/// delay and sends from a host to a host of its own, over a route of these links. A link of weight
/// 2 is in the route twice.
///
/// Delays are not latencies of links: to SimGrid these are also a flow's weight.
#include "simgrid_case.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>

#include "ringside/base/error.hpp"

namespace ringside::tests {
namespace {

namespace sg4 = simgrid::s4u;

/// The fair sharing alone: no windows, no acknowledgements, no corrections for TCP.
void configure() {
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
        "surf/precision:1e-12", "maxmin/precision:1e-12", "maxmin/concurrency-limit:-1",
        "contexts/stack-size:64"})
    sg4::Engine::set_config(setting);
}

double part_of(const std::vector<double>& efficiency, int flows) {
  if (efficiency.empty() || flows == 0) return 1;
  return efficiency[std::min(static_cast<std::size_t>(flows), efficiency.size()) - 1];
}

class Platform {
 public:
  Platform(const Case& wanted, const std::string& name, sg4::NetZone* root,
           std::vector<double>& times)
      : wanted_(wanted), name_(name), times_(times), zone_(sg4::create_full_zone(name)) {
    zone_->set_parent(root);
    times_.assign(wanted.flows.size(), -1);
    for (const Resource& resource : wanted.resources) add(resource);
    next_.resize(wanted.flows.size());
    for (std::size_t f = 0; f < wanted.flows.size(); ++f) add(wanted.flows[f], f);
    zone_->seal();
    start();
  }

 private:
  void add(const Resource& resource) {
    sg4::Link* link =
        zone_->create_link(fmt::format("{}_link{}", name_, links_.size()), resource.capacity);
    link->set_latency(0.0);
    if (!resource.efficiency.empty())
      link->set_sharing_policy(sg4::Link::SharingPolicy::NONLINEAR,
                               [curve = resource.efficiency](double capacity, int flows) {
                                 return capacity * part_of(curve, flows);
                               });
    link->seal();
    links_.push_back(link);
  }

  void add(const CaseFlow& flow, std::size_t index) {
    const auto host = [&](const char* end) {
      return zone_->create_host(fmt::format("{}_{}{}", name_, end, index), 1e9)->seal();
    };
    from_.push_back(host("from"));
    to_.push_back(host("to"));
    std::vector<sg4::LinkInRoute> route;
    for (const Use& use : flow.uses)
      for (int i = 0; i < std::lround(use.weight); ++i)
        route.emplace_back(links_[static_cast<std::size_t>(use.resource)]);
    zone_->add_route(from_.back()->get_netpoint(), to_.back()->get_netpoint(), nullptr, nullptr,
                     route, false);
    ready_.push_back(sg4::Semaphore::create(0));
    for (const int before : flow.after) next_[static_cast<std::size_t>(before)].push_back(index);
  }

  void start() {
    for (std::size_t f = 0; f < wanted_.flows.size(); ++f)
      sg4::Actor::create(fmt::format("{}_flow{}", name_, f), from_[f], [this, f] { run(f); });
  }

  void run(std::size_t f) {
    const CaseFlow& flow = wanted_.flows[f];
    for (std::size_t i = 0; i < flow.after.size(); ++i) ready_[f]->acquire();
    if (flow.delay > 0) sg4::this_actor::sleep_for(flow.delay);
    sg4::Comm::sendto(from_[f], to_[f], static_cast<std::uint64_t>(flow.bytes));
    times_[f] = sg4::Engine::get_clock();
    for (const std::size_t next : next_[f]) ready_[next]->release();
  }

  const Case& wanted_;
  std::string name_;
  std::vector<double>& times_;
  sg4::NetZone* zone_;
  std::vector<sg4::Link*> links_;
  std::vector<sg4::Host*> from_, to_;
  std::vector<sg4::SemaphorePtr> ready_;
  std::vector<std::vector<std::size_t>> next_;
};

std::vector<std::vector<double>> simulate(std::span<const Case> cases) {
  std::string name = "cases", quiet = "--log=xbt_cfg.thres:warning";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  sg4::Engine engine(&count, arguments);
  configure();
  sg4::NetZone* root = sg4::create_full_zone("root");
  std::vector<std::vector<double>> times(cases.size());
  std::vector<std::unique_ptr<Platform>> platforms;
  for (std::size_t i = 0; i < cases.size(); ++i)
    platforms.push_back(
        std::make_unique<Platform>(cases[i], fmt::format("case{}", i), root, times[i]));
  root->seal();
  engine.run();
  return times;
}

/// In a child, which writes the times to a pipe.
void simulate_elsewhere(std::span<const Case> cases, std::vector<std::vector<double>>& times) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Error(ErrorCode::io, "no pipe");
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorCode::io, "no process");
  FILE* stream = fdopen(child == 0 ? ends[1] : ends[0], child == 0 ? "wb" : "rb");
  close(child == 0 ? ends[0] : ends[1]);
  if (child == 0) {
    for (const std::vector<double>& one : simulate(cases))
      std::fwrite(one.data(), sizeof(double), one.size(), stream);
    std::fclose(stream);
    _exit(0);
  }
  for (const Case& one : cases) {
    times.emplace_back(one.flows.size(), -1);
    if (std::fread(times.back().data(), sizeof(double), one.flows.size(), stream) !=
        one.flows.size())
      throw Error(ErrorCode::failed, "SimGrid has ended early");
  }
  std::fclose(stream);
  waitpid(child, nullptr, 0);
}

}  // namespace

std::vector<std::vector<double>> times_of_simgrid(const std::vector<Case>& cases) {
  constexpr std::size_t at_once = 50;
  std::vector<std::vector<double>> times;
  for (std::size_t i = 0; i < cases.size(); i += at_once)
    simulate_elsewhere(std::span(cases).subspan(i, std::min(at_once, cases.size() - i)), times);
  return times;
}

}  // namespace ringside::tests
