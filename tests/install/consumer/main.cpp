// SPDX-License-Identifier: MIT
/// An outside program: four ranks sum their vectors.
#include <ringside/ringside.hpp>

#include <cstdio>
#include <span>
#include <vector>

int main() {
  auto world = ringside::World::threads(4);
  world.run([](ringside::Communicator& comm) {
    std::vector<float> values(8, 1.0F);
    comm.all_reduce(std::span(values), ringside::ReduceOp::sum);
    for (const float value : values)
      if (value != 4.0F) throw ringside::Error(ringside::ErrorCode::internal, "wrong sum");
  });
  std::puts("all ranks have the sum");
}
