// SPDX-License-Identifier: MIT
/// The registry of every knob of Ringside: one table, read everywhere, printed by
/// `ringside options`. The environment is read here and nowhere else.
///
///     const Seconds limit = option<Seconds>("timeout");   // name and type checked by the compiler
///
/// A value comes from the program (`set_option`), else from the environment (`RINGSIDE_TIMEOUT`),
/// else it is the default. To add an option, add its row to `option_table`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ringside/base/clock.hpp"

namespace ringside {

/// How an option's text is read, and the C++ type it is read as.
enum class OptionType {
  boolean,          ///< bool: true/false, yes/no, on/off, 1/0
  integer,          ///< std::int64_t
  automatic_count,  ///< std::optional<std::int64_t>: a count, or "auto" (empty)
  size,             ///< std::uint64_t, bytes: 64K
  duration,         ///< Seconds: 300, 100us
  text,             ///< std::string: anything
  choice            ///< std::string: one of the words listed
};

/// One row of the table.
struct OptionDefinition {
  std::string_view name;  ///< the variable is RINGSIDE_ and this in capitals
  OptionType type;
  std::string_view default_text;  ///< in the form in which it would be set
  std::string_view meaning;       ///< one line, without a final full stop
  /// For a choice: the words, separated by '|'.
  std::string_view choices = {};
  /// For numbers: the values allowed, inclusively; bytes or seconds for sizes and durations.
  double minimum = 0;
  double maximum = std::numeric_limits<double>::infinity();
};

/// All options, in the order in which they are printed.
inline constexpr auto option_table = std::to_array<OptionDefinition>({
    {"timeout",
     OptionType::duration,
     "300s",
     "how long a collective waits for another rank before it fails",
     {},
     1e-3,
     1e7},
    {"spin",
     OptionType::automatic_count,
     "auto",
     "polls of a waiting rank before it yields its core; auto: many when every rank has a core, "
     "else none",
     {},
     0,
     1e9},
    {"sleep_after",
     OptionType::duration,
     "100us",
     "a rank that has waited this long sleeps between polls, a sixteenth of the wait so far",
     {},
     0,
     1e7},
    {"isa", OptionType::choice, "auto",
     "instruction set of the reduction kernels; auto: the best this processor has (the bits are "
     "the same)",
     "auto|baseline|avx2|avx512"},
    {"inline",
     OptionType::size,
     "1K",
     "messages up to this long (4 times that where ranks share cores) travel in the call itself "
     "where the algorithm's proof says that this gives the same bits; 0: never",
     {},
     0,
     4080},
    {"checksum", OptionType::boolean, "false",
     "collectives are checked from end to end: bytes that arrive other than they were sent are an "
     "error; the results are the same, calls take longer"},
    {"algorithm", OptionType::text, "auto",
     "spec string of the algorithm used where a call names none, such as ring:slices=8"},
    {"plugins", OptionType::text, "",
     "shared objects with algorithms (ringside_algorithm.h), as paths separated by ':'"},
    {"tuning", OptionType::text, "",
     "file of measured choices that algorithm auto looks up, made by ringside bench --tune; empty: "
     "the table that comes with the library"},
    {"topology", OptionType::text, "",
     "machine that algorithm auto plans for on GPUs where no measured choice decides: live, a "
     "preset or a file (see ringside topo); empty: none"},
    {"cuda_p2p", OptionType::choice, "auto",
     "what GPUs do with each other's memory; auto: what they were found to do right, copy: copies "
     "alone, none: everything through host memory",
     "auto|copy|none"},
    {"cuda_copies", OptionType::choice, "auto",
     "who does a plain copy on GPUs; auto: copy engines where it is long, kernels where it is "
     "short",
     "auto|engine|kernel"},
    {"cuda_graphs",
     OptionType::integer,
     "3",
     "the how many-th call with the same arguments and buffers is captured as a CUDA graph, which "
     "later ones launch; 0: none",
     {},
     0,
     1e9},
    {"nccl_library", OptionType::text, "libnccl.so.2",
     "NVIDIA's library, opened when it is asked for: a path, or a name that the loader looks up"},
    {"mpi_module", OptionType::text, "",
     "shared object by which ranks are MPI processes; empty: that of the MPI whose mpirun started "
     "the process, beside the program or in the library folder"},
    {"mpi_thread_level", OptionType::choice, "multiple",
     "what is asked of the MPI; with less than multiple asynchronous calls go on only where a rank "
     "waits for one or tests one",
     "multiple|serialized|funneled|single"},
    {"mpi_hosts", OptionType::text, "",
     "ranks of each host as if they were on several, such as 2,2,1 or 2 (on each): for tests; "
     "empty: as they are"},
    {"mpi_copies", OptionType::choice, "auto",
     "how processes of a host reach each other's private buffers; single: by copies from process "
     "to process, staged: through shared memory; auto: single where the system allows it",
     "auto|single|staged"},
    {"mpi_inline",
     OptionType::size,
     "8K",
     "the same as inline for ranks that are processes",
     {},
     0,
     65520},
    {"mpi_memory",
     OptionType::size,
     "64G",
     "addresses that a process reserves for memory shared with those of its host; what is not used "
     "takes none",
     {},
     16777216,
     1e15},
    {"torch_engine", OptionType::text, "",
     "shared object by which ringside train computes with libtorch; empty: libringside_torch.so "
     "beside the program or in the library folder"},
    {"progress", OptionType::choice, "auto",
     "progress line of long work on standard error; auto: on a terminal only", "auto|always|never"},
});

/// Whether the environment has a variable of another program's (a launcher's), whatever its value.
[[nodiscard]] bool environment_has(const char* variable);

/// Where a value came from.
enum class OptionSource { default_value, environment, program };

/// "default", "environment", "program".
[[nodiscard]] std::string_view to_string(OptionSource source);

namespace detail {

template <class T>
constexpr bool option_reads_as(OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return std::is_same_v<T, bool>;
    case OptionType::integer:
      return std::is_same_v<T, std::int64_t>;
    case OptionType::automatic_count:
      return std::is_same_v<T, std::optional<std::int64_t>>;
    case OptionType::size:
      return std::is_same_v<T, std::uint64_t>;
    case OptionType::duration:
      return std::is_same_v<T, Seconds>;
    case OptionType::text:
    case OptionType::choice:
      return std::is_same_v<T, std::string>;
  }
  return false;
}

/// A literal that names a row of the table whose type reads as T; anything else does not compile.
template <class T>
class OptionName {
 public:
  consteval OptionName(const char* name) {  // NOLINT(google-explicit-constructor): reads as a name
    for (const auto& row : option_table) {
      if (row.name != name) {
        ++index_;
      } else if (option_reads_as<T>(row.type)) {
        return;
      } else {
        throw "this option has another type";
      }
    }
    throw "no option has this name";
  }
  [[nodiscard]] constexpr std::size_t index() const { return index_; }

 private:
  std::size_t index_ = 0;
};

template <class T>
T read_option(std::size_t index);

}  // namespace detail

/// The value of an option now: see OptionType for T. Error (bad_input, naming the variable) when
/// the environment holds something that cannot be read; the registry never falls back silently.
/// Takes a lock: for set-up, not for the inside of a collective.
template <class T>
[[nodiscard]] T option(std::type_identity_t<detail::OptionName<T>> name) {
  return detail::read_option<T>(name.index());
}

/// Sets an option from text, from now on, above the environment. Error (bad_input) when there is no
/// such option or the text is not one of its values.
void set_option(std::string_view name, std::string_view text);

/// Sets "name=text", the form in which the command line gives it.
void set_option(std::string_view assignment);

/// Takes back what `set_option` did to this option.
void reset_option(std::string_view name);

/// Sets an option for as long as it lives, then puts back what the program had set before.
class ScopedOption {
 public:
  /// Throws as set_option does.
  ScopedOption(std::string_view name, std::string_view text);
  ScopedOption(const ScopedOption&) = delete;
  ScopedOption& operator=(const ScopedOption&) = delete;
  ~ScopedOption();

 private:
  std::size_t index_;
  std::optional<std::string> before_;
};

/// What `ringside options` prints of one option.
struct OptionRow {
  std::string name;
  std::string variable;      ///< of the environment: "RINGSIDE_TIMEOUT"
  std::string type;          ///< in a word: "duration"
  std::string allowed;       ///< the values: "1ms..300s", "auto|baseline|avx2"
  std::string default_text;  ///< in the form in which it would be set
  std::string current;       ///< as text; what was given, also when it cannot be read
  OptionSource source = OptionSource::default_value;  ///< who gave `current`
  std::string meaning;                                ///< one line, without a final full stop
  std::string error;                                  ///< why `current` cannot be read; else empty
};

/// All options as they stand. Does not throw for values that cannot be read.
[[nodiscard]] std::vector<OptionRow> option_rows();

/// A variable of the environment that looks like one of ours and is none.
struct UnknownVariable {
  std::string variable;    ///< as it stands in the environment
  std::string suggestion;  ///< the variable that was probably meant; else empty
};

/// The RINGSIDE_* variables of the environment that no option has, sorted.
[[nodiscard]] std::vector<UnknownVariable> unknown_option_variables();

}  // namespace ringside
