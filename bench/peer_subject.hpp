// SPDX-License-Identifier: MIT
/// Other libraries, timed in programs of their own beside us.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/bench/peer_process.hpp"
#include "ringside/bench/peers/protocol.hpp"
#include "ringside/bench/subject.hpp"

namespace ringside::bench {

/// One library in one setting.
struct PeerKind {
  enum class Launcher { open_mpi, mpich, none };

  std::string_view name;     ///< as `--compare` takes it
  std::string_view program;  ///< the file
  Launcher launcher;
  std::string_view setting;   ///< in words; may be empty
  bool tuned_malloc = false;  ///< large temporaries stay with the process
  bool single_copy = true;    ///< Open MPI: large messages by one copy between the processes
  bool needs_cores = false;   ///< of no use where ranks outnumber cores
  std::string_view packages;  ///< Debian's, that it is built and run with
};

[[nodiscard]] const std::vector<PeerKind>& peer_kinds();
/// Nothing if there is no such name.
[[nodiscard]] const PeerKind* find_peer_kind(std::string_view name);

/// Where and how a peer's ranks run.
struct PeerSetup {
  int ranks = 2;
  std::vector<int> cores = {};  ///< rank r on cores[r mod their number]; empty: anywhere
  Seconds limit{300};           ///< of one answer
  Buffers buffers = Buffers::warm;
  std::string folder = {};  ///< of the programs; empty: look for them beside this program
};

/// What starts the ranks. Throws what find_peer_program throws.
[[nodiscard]] std::vector<std::string> peer_command_line(const PeerKind& kind,
                                                         const PeerSetup& setup);

class PeerSubject final : public Subject {
 public:
  /// Starts the ranks. Throws Error: unsupported, saying which packages to install, without the
  /// program; io without what launches it; and what PeerProcess throws.
  PeerSubject(const PeerKind& kind, const PeerSetup& setup);

  [[nodiscard]] Series describe() const override;
  /// What the library says.
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// Nothing: the peer checks one call of each kind itself, and answers with an error.
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  const PeerKind& kind_;
  int ranks_;
  Buffers buffers_;
  mutable PeerProcess process_;  // asking changes nothing that can be seen
  std::string library_;
};

/// The program's path, in `folder` or, without one, where it stands in the build tree and when
/// installed. Throws Error(unsupported), saying what to install, when it is not there.
[[nodiscard]] std::string find_peer_program(const PeerKind& kind, const std::string& folder);

}  // namespace ringside::bench
