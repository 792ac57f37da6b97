// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/team.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/mpi/private_memory.hpp"

namespace ringside::mpi {
namespace {

constexpr std::size_t most_cores = 4096;

template <std::size_t size>
void store(std::array<char, size>& to, std::string_view text) {
  to = {};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), to.begin());
}

std::string host_name_here() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The machine and its container: numbers that no two share.
std::string machine_here() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat processes = {};
  ::stat("/proc/self/ns/pid", &processes);
  return fmt::format("{}/{}", boot, processes.st_ino);
}

/// Which host a rank is on by the option `mpi_hosts`, or 0.
int simulated_host(int rank) {
  const auto text = option<std::string>("mpi_hosts");
  if (text.empty()) return 0;
  std::vector<int> counts;
  for (const auto word : split(text, ',')) {
    int count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc() || end != word.data() + word.size() || count < 1)
      throw Error(
          ErrorCode::bad_input,
          fmt::format("option mpi_hosts: {} is no list of ranks on each host, such as 2,2,1",
                      quote(text)));
    counts.push_back(count);
  }
  int host = 0;
  for (int first = 0;; ++host) {
    first += counts[std::min(static_cast<std::size_t>(host), counts.size() - 1)];
    if (rank < first) return host;
  }
}

/// Bytes a second of the fastest network interface but the loopback.
double network_here() {
  namespace fs = std::filesystem;
  double fastest = 0;
  std::error_code ignored;
  for (const auto& interface : fs::directory_iterator("/sys/class/net", ignored)) {
    double megabits = 0;
    std::ifstream(interface.path() / "speed") >> megabits;  // fails for one that is down
    fastest = std::max(fastest, megabits * 1e6 / 8);
  }
  constexpr double usual = 1.25e9;
  return fastest > 0 ? fastest : usual;
}

Team::Copies asked_copies() {
  const auto word = option<std::string>("mpi_copies");
  if (word == "single") return Team::Copies::single;
  return word == "staged" ? Team::Copies::staged : Team::Copies::automatic;
}

/// What others read to see whether they can.
constexpr std::uint64_t known_number = 0x52696e6773696465;
const std::uint64_t readable_number = known_number;

}  // namespace

/// What a process tells all others of itself.
struct Team::Facts {
  int process = 0;
  int descriptor = -1;
  int simulated = 0;
  Copies copies = Copies::automatic;
  std::size_t segment_bytes = 0;
  double network = 0;
  const std::uint64_t* readable = nullptr;
  std::array<char, 128> host = {};
  std::array<char, 80> machine = {};
  std::bitset<most_cores> cores;
};

Team::Team(Transport& transport)
    : transport_(transport),
      rank_(transport.rank()),
      arena_(std::make_shared<Arena>(Segment::create(option<std::uint64_t>("mpi_memory")))),
      members_(static_cast<std::size_t>(transport.size())) {
  const auto all = gathered(transport_, own_facts());
  assign_hosts(all);
  attach(all);
  try_single_copies(all);
}

Team::~Team() {
  arena_->close();
  for (Member& member : members_)  // what is kept is asked about until the end
    if (const int watch = std::exchange(member.watch, -1); watch >= 0) ::close(watch);
}

Team::Facts Team::own_facts() const {
  Facts facts;
  facts.process = ::getpid();
  facts.descriptor = arena_->segment().descriptor();
  facts.simulated = simulated_host(rank_);
  facts.copies = asked_copies();
  facts.segment_bytes = arena_->segment().size();
  facts.network = network_here();
  facts.readable = &readable_number;
  store(facts.host, host_name_here());
  store(facts.machine, machine_here());
  for (const int cpu : allowed_cpus())
    if (static_cast<std::size_t>(cpu) < most_cores) facts.cores.set(static_cast<std::size_t>(cpu));
  return facts;
}

void Team::assign_hosts(const std::vector<Facts>& all) {
  std::map<std::string, int> numbers;
  std::vector<std::bitset<most_cores>> cores;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Facts& facts = all[rank];
    const auto key =
        fmt::format("{} {} {}", facts.host.data(), facts.machine.data(), facts.simulated);
    const auto [known, is_new] = numbers.emplace(key, hosts());
    if (is_new) {
      std::string name = facts.host.data();
      if (facts.simulated > 0) name += fmt::format("/{}", facts.simulated);
      host_names_.push_back(name);
      cores.emplace_back();
    }
    members_[rank].host = known->second;
    members_[rank].process = facts.process;
    cores[static_cast<std::size_t>(known->second)] |= facts.cores;
  }
  network_bandwidth_ = all.front().network;
  copies_ = all.front().copies;
  for (const Facts& facts : all) {
    network_bandwidth_ = std::min(network_bandwidth_, facts.network);
    copies_ = std::min(copies_, facts.copies);
  }
  for (const auto& set : cores) cores_.push_back(std::max(1, static_cast<int>(set.count())));
}

void Team::attach(const std::vector<Facts>& all) {
  std::array<char, 256> why = {};
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_ || !is_near(rank)) continue;
    const Facts& facts = all[static_cast<std::size_t>(rank)];
    Member& member = members_[static_cast<std::size_t>(rank)];
    try {
      member.segment = std::make_unique<Segment>(
          Segment::attach(facts.process, facts.descriptor, facts.segment_bytes));
    } catch (const Error& error) {
      store(why, fmt::format("{}: {}", describe(rank), error.what()));
    }
    member.watch = static_cast<int>(::syscall(SYS_pidfd_open, facts.process, 0));
  }
  for (const auto& told : gathered(transport_, why))
    if (told.front() != '\0') throw Error(ErrorCode::io, told.data());
}

void Team::try_single_copies(const std::vector<Facts>& all) {
  char possible = 1;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_ || !is_near(rank)) continue;
    std::uint64_t number = 0;
    const auto* from =
        reinterpret_cast<const std::byte*>(all[static_cast<std::size_t>(rank)].readable);
    if (!read_private(process(rank), from, reinterpret_cast<std::byte*>(&number), sizeof(number)) ||
        number != known_number)
      possible = 0;
  }
  const auto each = gathered(transport_, possible);
  single_copies_ = std::all_of(each.begin(), each.end(), [](char can) { return can != 0; });
}

std::uint64_t Team::new_flag() {
  static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free);
  constexpr std::size_t flags_at_once = 4096;  // a page
  const std::lock_guard lock(mutex_);
  forget_unwatched();  // a new communicator shall find the memory of old ones
  if (flags_left_ == 0) {
    flags_.push_back(Arena::allocate(arena_, flags_at_once));
    flags_left_ = flags_at_once;
  }
  std::byte* const at = flags_.back().get() + --flags_left_;
  new (at) std::atomic<bool>(false);  // NOLINT: lives in shared memory
  return static_cast<std::uint64_t>(at - arena_->segment().data());
}

void Team::keep(std::vector<std::shared_ptr<std::byte>> memory,
                std::vector<std::atomic<bool>*> until_set) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::move(memory), std::move(until_set)});
  forget_unwatched();
}

void Team::await_kept(Seconds longest) {
  await_others(longest, [&] {
    const std::lock_guard lock(mutex_);
    forget_unwatched();
    return kept_.empty();
  });
}

void Team::forget_unwatched() {
  std::erase_if(kept_, [](const Kept& kept) {
    return std::all_of(kept.until_set.begin(), kept.until_set.end(),
                       [](const auto* flag) { return flag->load(std::memory_order_acquire); });
  });
}

int Team::cores() const { return std::accumulate(cores_.begin(), cores_.end(), 0); }

bool Team::has_died(int rank) const {
  if (rank == rank_) return false;
  const Member& of = member(rank);
  if (of.watch < 0) return ::kill(of.process, 0) != 0 && errno == ESRCH;
  pollfd watch{.fd = of.watch, .events = POLLIN, .revents = 0};
  return ::poll(&watch, 1, 0) == 1;
}

bool Team::is_stopped(int rank) const {
  if (rank == rank_) return false;
  // "1234 (name) T ...", and a name may hold anything.
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", process(rank))), line);
  const auto end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() &&
         (line[end + 2] == 'T' || line[end + 2] == 't');
}

bool Team::is_crippled() const {
  for (int rank = 0; rank < size(); ++rank)
    if (is_near(rank) && (has_died(rank) || is_stopped(rank))) return true;
  return false;
}

std::string Team::describe(int rank) const {
  return fmt::format("rank {} (process {} on host {})", rank, process(rank),
                     host_name(host_of(rank)));
}

}  // namespace ringside::mpi
