// SPDX-License-Identifier: MIT
/// An outside program in C: four ranks sum their numbers.
#include <ringside/ringside.h>

#include <stdio.h>

static int body(ringside_communicator* comm, void* user) {
  double value = 1.5;
  const ringside_status status =
      ringside_all_reduce(comm, &value, &value, 1, RINGSIDE_FLOAT64, RINGSIDE_SUM, NULL, NULL);
  (void)user;
  return status != RINGSIDE_OK ? status : value == 6.0 ? RINGSIDE_OK : RINGSIDE_INTERNAL;
}

int main(void) {
  ringside_world* world = NULL;
  ringside_status status = ringside_world_threads(4, &world);
  if (status == RINGSIDE_OK) status = ringside_world_run(world, body, NULL);
  ringside_world_destroy(world);
  if (status != RINGSIDE_OK) return fprintf(stderr, "%s\n", ringside_last_error()), 1;
  puts("all ranks have the sum");
  return 0;
}
