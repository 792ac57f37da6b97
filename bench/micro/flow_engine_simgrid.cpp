// SPDX-License-Identifier: MIT
/// The cases of micro_flow_engine in SimGrid: an actor a host, and its mailboxes.
#include <algorithm>
#include <array>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "ringside/bench/micro/flow_engine_cases.hpp"

namespace ringside::micro {
namespace {

namespace sg4 = simgrid::s4u;

/// The fair sharing alone: no windows, no acknowledgements, no corrections for TCP.
void configure() {
  for (const char* setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "network/latency-factor:1", "network/bandwidth-factor:1",
                              "network/weight-S:0", "contexts/stack-size:64"})
    sg4::Engine::set_config(setting);
}

std::vector<sg4::Host*> make_star(int hosts) {
  sg4::NetZone* zone = sg4::create_star_zone("star");
  std::vector<sg4::Host*> made;
  const auto link = [&](const std::string& name) {
    return sg4::LinkInRoute(
        zone->create_link(name, StarCase::capacity)->set_latency(StarCase::latency / 2)->seal());
  };
  for (int i = 0; i < hosts; ++i) {
    const std::string name = std::to_string(i);
    sg4::Host* host = zone->create_host("host" + name, 1e9);
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    std::vector<sg4::LinkInRoute>{link("up" + name)}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr,
                    std::vector<sg4::LinkInRoute>{link("down" + name)}, false);
    made.push_back(host);
  }
  zone->seal();
  return made;
}

void ring_rank(int rank, const StarCase& wanted) {
  const auto mailbox = [](int owner) { return sg4::Mailbox::by_name(std::to_string(owner)); };
  sg4::Mailbox* mine = mailbox(rank);
  sg4::Mailbox* next = mailbox((rank + 1) % wanted.hosts);
  static int payload = 0;
  for (int step = 0; step < wanted.steps(); ++step) {
    const sg4::CommPtr sent = next->put_async(&payload, StarCase::block);
    mine->get<int>();
    sent->wait();
  }
}

void all_to_all_rank(int rank, const std::vector<sg4::Host*>& hosts) {
  std::vector<sg4::CommPtr> sent;
  for (int to = 0; to < static_cast<int>(hosts.size()); ++to)
    if (to != rank)
      sent.push_back(sg4::Comm::sendto_async(hosts[static_cast<std::size_t>(rank)],
                                             hosts[static_cast<std::size_t>(to)],
                                             StarCase::bytes(rank, to)));
  for (const sg4::CommPtr& comm : sent) comm->wait();
}

}  // namespace

double run_in_simgrid(const StarCase& wanted) {
  std::string name = "star", quiet = "--log=xbt_cfg.thres:warning";
  std::array<char*, 3> arguments{name.data(), quiet.data(), nullptr};
  int count = 2;
  sg4::Engine engine(&count, arguments.data());
  configure();
  const std::vector<sg4::Host*> hosts = make_star(wanted.hosts);
  for (int rank = 0; rank < wanted.hosts; ++rank) {
    const auto work = [rank, &wanted, &hosts] {
      if (wanted.kind == StarCase::Kind::ring)
        ring_rank(rank, wanted);
      else
        all_to_all_rank(rank, hosts);
    };
    sg4::Actor::create(std::to_string(rank), hosts[static_cast<std::size_t>(rank)], work);
  }
  engine.run();
  return sg4::Engine::get_clock();
}

}  // namespace ringside::micro
