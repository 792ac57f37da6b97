// SPDX-License-Identifier: MIT
/// An all-reduce from C99: four ranks, which are threads, add up their vectors and check the sum.
#include <ringside/ringside.h>

#include <stdio.h>

enum { ranks = 4, elements = 100000 };

/// What one rank does. Its buffers are its own; 0 is success.
static int body(ringside_communicator* comm, void* user) {
  static float data[ranks][elements]; /* too large for a thread's stack */
  float* mine = data[ringside_rank(comm)];
  const float expected = ranks * (ranks + 1) / 2.0F;
  ringside_options options = RINGSIDE_OPTIONS;
  int i;
  ringside_status status;

  options.algorithm = (const char*)user;
  for (i = 0; i < elements; ++i) mine[i] = (float)(ringside_rank(comm) + 1);
  status = ringside_all_reduce(comm, mine, mine, elements, RINGSIDE_FLOAT32, RINGSIDE_SUM, &options,
                               NULL);
  if (status != RINGSIDE_OK) return status;
  for (i = 0; i < elements; ++i)
    if (mine[i] != expected) return RINGSIDE_INTERNAL;
  return RINGSIDE_OK;
}

int main(int argc, char** argv) {
  ringside_world* world = NULL;
  ringside_status status = ringside_world_threads(ranks, &world);
  /* An algorithm may be named: ring:slices=4, or a plan file. NULL leaves the choice. */
  if (status == RINGSIDE_OK) status = ringside_world_run(world, body, argc > 1 ? argv[1] : NULL);
  ringside_world_destroy(world);
  if (status != RINGSIDE_OK) {
    fprintf(stderr, "c_all_reduce: %s: %s\n", ringside_status_name(status), ringside_last_error());
    return 2;
  }
  printf("%d ranks have the sum of %d elements\n", ranks, elements);
  return 0;
}
