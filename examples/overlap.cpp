// SPDX-License-Identifier: MIT
/// Communication beside computation: asynchronous calls, a group of messages, and a split.
#include <cstdio>
#include <vector>

#include <ringside/ringside.hpp>

namespace {

/// Stands for the work that makes the gradient of one layer; the same number everywhere.
void compute(std::vector<float>& gradient, int rank) {
  for (auto& value : gradient) value = static_cast<float>(rank + 1);
}

bool train_step(ringside::Communicator& comm) {
  const int n = comm.size(), me = comm.rank();

  // Each layer's gradient travels while the next one is computed.
  std::vector<std::vector<float>> layers(8, std::vector<float>(100'000));
  std::vector<ringside::Handle> handles;
  for (auto& gradient : layers) {
    compute(gradient, me);
    handles.push_back(comm.async().all_reduce(gradient, ringside::ReduceOp::avg));
  }
  for (auto& handle : handles) handle.wait();  // rethrows what went wrong; now the data are ours

  // Everybody sends to the right and receives from the left: in a group nobody waits for an order.
  std::vector<int> out(1000, me), in(1000);
  ringside::grouped([&] {
    comm.send(out, (me + 1) % n);
    comm.recv(in, (me + n - 1) % n);
  });

  // The even and the odd ranks work on their own.
  auto part = comm.split(/*color=*/me % 2);
  std::vector<int> count = {1};
  part->all_reduce(count);

  return layers[7][0] == static_cast<float>(n + 1) / 2 && in[0] == (me + n - 1) % n &&
         count[0] == part->size();
}

}  // namespace

int main() {
  auto world = ringside::World::threads(4);
  std::vector<int> right(4);
  world.run([&](ringside::Communicator& comm) {
    right[static_cast<std::size_t>(comm.rank())] = train_step(comm) ? 1 : 0;
  });
  const bool all = right == std::vector<int>(4, 1);
  std::puts(all ? "all ranks have what they should" : "WRONG");
  return all ? 0 : 1;
}
