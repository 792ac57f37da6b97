// SPDX-License-Identifier: MIT
/// Times MPI_Allreduce the way `ringside bench` times its own algorithms. Not run by hand: the
/// benchmark starts it under mpirun and gives it commands on standard input, one a line:
///
///     run BYTES TYPE OP in|out SAMPLES CALLS_PER_SAMPLE LEAD_IN
///     quit
///
/// TYPE and OP are nccl-tests' names. Rank 0 answers each `run` with one line,
///
///     times RANKS SECONDS... SAMPLES SECONDS...
///
/// every rank's time of the whole block, then each sample's time of one call on the slowest rank;
/// or with `error WHAT`. At the start it says `ready LIBRARY`. While there is no command, the ranks
/// sleep: they must not take cores from what is measured in turn. Uses the C interface only, so it
/// also builds with MPICH.
#include <mpi.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Command {
  long long bytes, samples, calls_per_sample, lead_in;
  int type, op;  // index in the tables below
  int in_place;
  int quit;
};

struct Type {
  std::string_view name;
  MPI_Datatype mpi;
  std::size_t bytes;
  std::uint64_t one;  // bits of the number 1
};

const std::vector<Type>& types() {
  static const std::vector<Type> table = {
      {"int8", MPI_INT8_T, 1, 1},          {"uint8", MPI_UINT8_T, 1, 1},
      {"int32", MPI_INT32_T, 4, 1},        {"uint32", MPI_UINT32_T, 4, 1},
      {"int64", MPI_INT64_T, 8, 1},        {"uint64", MPI_UINT64_T, 8, 1},
      {"float", MPI_FLOAT, 4, 0x3f800000}, {"double", MPI_DOUBLE, 8, 0x3ff0000000000000},
  };
  return table;
}

struct Op {
  std::string_view name;
  MPI_Op mpi;
};

const std::vector<Op>& ops() {
  static const std::vector<Op> table = {
      {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN}};
  return table;
}

template <class Table>
int index_of(const Table& table, std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<int>(i);
  return -1;
}

/// Pages like those of the benchmark's own buffers: huge ones from 2 MiB on, if to be had.
class Pages {
 public:
  std::byte* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    if (data_ != nullptr) munmap(data_, bytes_);
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    if (bytes >= std::size_t{2} << 20) madvise(mapped, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(mapped);
    bytes_ = bytes;
    return data_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The next command that makes sense; rank 0 only. End of input is `quit`.
Command read_command() {
  Command command = {};
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char type[16], op[16], placement[8];
    if (std::sscanf(line, "run %lld %15s %15s %7s %lld %lld %lld", &command.bytes, type, op,
                    placement, &command.samples, &command.calls_per_sample,
                    &command.lead_in) == 7) {
      command.type = index_of(types(), type);
      command.op = index_of(ops(), op);
      command.in_place = std::strcmp(placement, "in") == 0;
      if (command.type >= 0 && command.op >= 0 && command.bytes >= 0 && command.samples > 0 &&
          command.calls_per_sample > 0)
        return command;
    }
    if (std::strcmp(line, "quit\n") == 0) break;
    std::printf("error this program cannot run: %s", line);
    std::fflush(stdout);
  }
  command.quit = 1;
  return command;
}

/// The command for all ranks. Those that wait look once a millisecond and sleep in between, where
/// a blocking broadcast would poll.
Command next_command(int rank) {
  Command command = {};
  if (rank == 0) command = read_command();
  MPI_Request request;
  MPI_Ibcast(&command, sizeof command, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  const timespec nap = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int done = 0; true;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return command;
    nanosleep(&nap, nullptr);
  }
}

void fill(std::byte* to, long long count, const Type& type) {
  for (long long i = 0; i < count; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * type.bytes, &type.one, type.bytes);
}

/// The ends of the samples, in seconds from the first call.
std::vector<double> time_block(const Command& command, const void* send, void* receive, int count,
                               const Type& type, MPI_Op op) {
  const auto call = [&] { MPI_Allreduce(send, receive, count, type.mpi, op, MPI_COMM_WORLD); };
  MPI_Barrier(MPI_COMM_WORLD);
  for (long long i = 0; i < command.lead_in; ++i) call();
  if (command.lead_in == 0) {
    std::uint64_t element = 0;
    MPI_Allreduce(MPI_IN_PLACE, &element, 1, type.mpi, op, MPI_COMM_WORLD);
  }
  std::vector<double> ends(static_cast<std::size_t>(command.samples));
  const auto start = std::chrono::steady_clock::now();
  for (auto& end : ends) {
    for (long long i = 0; i < command.calls_per_sample; ++i) call();
    end = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return ends;
}

void print_times(const std::vector<double>& ranks, const std::vector<double>& samples) {
  const auto print = [](const std::vector<double>& seconds) {
    std::printf(" %zu", seconds.size());
    for (const double one : seconds) std::printf(" %.9g", one);
  };
  std::printf("times");
  print(ranks);
  print(samples);
  std::printf("\n");
  std::fflush(stdout);
}

void run(const Command& command, int rank, int ranks, Pages& input, Pages& output) {
  const Type& type = types()[static_cast<std::size_t>(command.type)];
  const auto bytes = static_cast<std::size_t>(command.bytes);
  const auto count = static_cast<long long>(bytes / type.bytes);
  std::byte* const receive = output.at_least(bytes + 1);
  const void* send = MPI_IN_PLACE;
  fill(receive, count, type);
  if (!command.in_place) {
    std::byte* const own = input.at_least(bytes + 1);
    fill(own, count, type);
    send = own;
  }
  const auto ends = time_block(command, send, receive, static_cast<int>(count), type,
                               ops()[static_cast<std::size_t>(command.op)].mpi);

  std::vector<double> samples(ends.size());
  double begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    samples[i] = (ends[i] - begin) / static_cast<double>(command.calls_per_sample);
    begin = ends[i];
  }
  std::vector<double> slowest(samples.size()), blocks(static_cast<std::size_t>(ranks));
  MPI_Reduce(samples.data(), slowest.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX,
             0, MPI_COMM_WORLD);
  MPI_Gather(&ends.back(), 1, MPI_DOUBLE, blocks.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) print_times(blocks, slowest);
}

/// "Open MPI v4.1.4" of a version text that goes on for lines.
std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return std::string(text, std::strcspn(text, ",\n"));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    std::printf("ready %s\n", library().c_str());
    std::fflush(stdout);
  }
  Pages input, output;
  while (true) {
    const Command command = next_command(rank);
    if (command.quit) break;
    run(command, rank, ranks, input, output);
  }
  MPI_Finalize();
  return 0;
}
