// SPDX-License-Identifier: MIT
/// Every function of ringside.h, called from C. Each check that fails is a line on standard error;
/// the program ends with 1 if there was any.
#include <ringside/ringside.h>

#include <stdio.h>
#include <string.h>

enum { ranks = 4, length = 24 }; /* a block of `length` elements per rank, where there are blocks */

/// Set by any thread, read when all have ended.
static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "calls.c:%d: %s; the last error: %s\n", line, what, ringside_last_error());
  failures = 1;
}
#define CHECK(condition) check(condition, #condition, __LINE__)
/// The status, and a last error that contains the words.
#define CHECK_FAILS(call, expected, words)               \
  do {                                                   \
    CHECK((call) == (expected));                         \
    CHECK(strstr(ringside_last_error(), words) != NULL); \
  } while (0)

/// Element i of rank r's block b.
static int32_t value(int r, int b, int i) { return r * 10000 + b * 100 + i; }
static void fill(int32_t* data, int r, int blocks) {
  int b, i;
  for (b = 0; b < blocks; ++b)
    for (i = 0; i < length; ++i) data[b * length + i] = value(r, b, i);
}
static int32_t sum_of_ranks(int b, int i) {
  int r;
  int32_t sum = 0;
  for (r = 0; r < ranks; ++r) sum += value(r, b, i);
  return sum;
}

/// Waits for the call if it has a handle.
static void finish(ringside_status status, ringside_handle* handle) {
  int done = 0;
  CHECK(status == RINGSIDE_OK);
  if (handle == NULL) return;
  CHECK(ringside_wait(handle) == RINGSIDE_OK);
  CHECK(ringside_wait(handle) == RINGSIDE_OK); /* every time */
  CHECK(ringside_test(handle, &done) == RINGSIDE_OK);
  CHECK(done == 1);
  ringside_handle_destroy(handle);
}
/// Makes a call that writes to `handle` (or is given NULL for it), and waits for it.
#define FINISH(call)                     \
  do {                                   \
    const ringside_status made = (call); \
    finish(made, handle);                \
    handle = NULL;                       \
  } while (0)

/// All collectives with equal blocks; with handles or without.
static void collectives(ringside_communicator* comm, int asynchronous) {
  const int me = ringside_rank(comm);
  const size_t block = length;
  ringside_handle* handle = NULL;
  ringside_handle** place = asynchronous ? &handle : NULL;
  int32_t in[ranks * length], out[ranks * length];
  int b, i, wrong = 0;

  fill(in, me, ranks);
  FINISH(ringside_all_reduce(comm, in, out, length, RINGSIDE_INT32, RINGSIDE_SUM, NULL, place));
  for (i = 0; i < length; ++i) wrong += !(out[i] == sum_of_ranks(0, i));
  CHECK(wrong == 0);

  FINISH(
      ringside_reduce_scatter(comm, in, out, &block, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, place));
  for (i = 0; i < length; ++i) wrong += !(out[i] == sum_of_ranks(me, i));
  CHECK(wrong == 0);

  FINISH(ringside_all_gather(comm, in, out, &block, 1, RINGSIDE_INT32, NULL, place));
  for (b = 0; b < ranks; ++b)
    for (i = 0; i < length; ++i) wrong += !(out[b * length + i] == value(b, 0, i));
  CHECK(wrong == 0);

  FINISH(ringside_broadcast(comm, in, out, length, RINGSIDE_INT32, 2, NULL, place));
  for (i = 0; i < length; ++i) wrong += !(out[i] == value(2, 0, i));
  CHECK(wrong == 0);

  FINISH(ringside_reduce(comm, in, out, length, RINGSIDE_INT32, RINGSIDE_MAX, 1, NULL, place));
  for (i = 0; me == 1 && i < length; ++i) wrong += !(out[i] == value(ranks - 1, 0, i));
  CHECK(wrong == 0);

  FINISH(
      ringside_gather(comm, in, me == 3 ? out : NULL, &block, 1, RINGSIDE_INT32, 3, NULL, place));
  for (b = 0; me == 3 && b < ranks; ++b)
    for (i = 0; i < length; ++i) wrong += !(out[b * length + i] == value(b, 0, i));
  CHECK(wrong == 0);

  FINISH(
      ringside_scatter(comm, me == 1 ? in : NULL, out, &block, 1, RINGSIDE_INT32, 1, NULL, place));
  for (i = 0; i < length; ++i) wrong += !(out[i] == value(1, me, i));
  CHECK(wrong == 0);

  FINISH(ringside_all_to_all(comm, in, out, &block, 1, RINGSIDE_INT32, NULL, place));
  for (b = 0; b < ranks; ++b)
    for (i = 0; i < length; ++i) wrong += !(out[b * length + i] == value(b, me, i));
  CHECK(wrong == 0);

  FINISH(ringside_barrier(comm, NULL, place));
}

/// Rank r's block has r elements.
static void unequal_blocks(ringside_communicator* comm) {
  const int me = ringside_rank(comm);
  const size_t blocks[ranks] = {0, 1, 2, 3};
  int32_t in[6], out[6];
  int b, i, at = 0;
  for (i = 0; i < 6; ++i) in[i] = me * 100 + i;
  CHECK(!ringside_all_gather(comm, in, out, blocks, ranks, RINGSIDE_INT32, NULL, NULL));
  for (b = 0; b < ranks; ++b)
    for (i = 0; i < b; ++i) CHECK(out[at++] == b * 100 + i);
  CHECK(!ringside_reduce_scatter(comm, in, out, blocks, ranks, RINGSIDE_INT32, RINGSIDE_MIN, NULL,
                                 NULL));
  for (i = 0; i < me; ++i) CHECK(out[i] == me * (me - 1) / 2 + i);
  CHECK_FAILS(ringside_all_gather(comm, in, out, blocks, 3, RINGSIDE_INT32, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "3 block lengths for 4 blocks");
}

static void options(ringside_communicator* comm) {
  ringside_options chosen = RINGSIDE_OPTIONS;
  float data = 1;
  char name[64];
  char cut[5];
  char words[2000];
  size_t size = 0;
  chosen.algorithm = "ring:slices=2";
  CHECK(!ringside_all_reduce(comm, &data, &data, 1, RINGSIDE_FLOAT32, RINGSIDE_SUM, &chosen, NULL));
  CHECK(data == ranks);
  chosen.scalar = 0.5;
  CHECK(!ringside_all_reduce(comm, &data, &data, 1, RINGSIDE_FLOAT32, RINGSIDE_PREMUL_SUM, &chosen,
                             NULL));
  CHECK(data == ranks * ranks / 2);
  chosen.timeout = 60;
  CHECK(!ringside_barrier(comm, &chosen, NULL));

  CHECK(!ringside_algorithm_for(comm, RINGSIDE_ALL_REDUCE, 4096, 1, &chosen, name, sizeof name,
                                &size));
  CHECK(strcmp(name, "ring:slices=2") == 0 && size == strlen(name));
  CHECK(
      !ringside_algorithm_for(comm, RINGSIDE_ALL_REDUCE, 4096, 1, &chosen, cut, sizeof cut, &size));
  CHECK(strcmp(cut, "ring") == 0 && size == strlen(name));
  CHECK(!ringside_algorithm_for(comm, RINGSIDE_ALL_REDUCE, 4096, 0, NULL, NULL, 0, &size));
  CHECK(size > 0);
  CHECK(!ringside_explain(comm, RINGSIDE_ALL_REDUCE, 4096, 1, &chosen, words, sizeof words, &size));
  CHECK(strstr(words, "ring:slices=2") != NULL && size == strlen(words));

  /* An earlier header's options end before the time limit. */
  chosen.size = offsetof(ringside_options, timeout);
  chosen.timeout = -1;
  CHECK(!ringside_barrier(comm, &chosen, NULL));
  chosen.size = sizeof chosen;
  CHECK_FAILS(ringside_barrier(comm, &chosen, NULL), RINGSIDE_INVALID_ARGUMENT, "a timeout of -1");
  chosen.size = 0;
  CHECK_FAILS(ringside_barrier(comm, &chosen, NULL), RINGSIDE_INVALID_ARGUMENT,
              "begin with RINGSIDE_OPTIONS");
}

/// Everybody sends to the next and receives from the one before: grouped, and with handles.
static void messages(ringside_communicator* comm) {
  const int me = ringside_rank(comm);
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  const int64_t mine = me;
  int64_t got = -1;
  ringside_handle *sent, *received;
  CHECK(!ringside_group_start());
  CHECK(!ringside_send(comm, &mine, 1, RINGSIDE_INT64, next, NULL, NULL));
  CHECK(!ringside_recv(comm, &got, 1, RINGSIDE_INT64, before, NULL, NULL));
  CHECK(!ringside_group_end());
  CHECK(got == before);

  got = -1;
  CHECK(!ringside_send(comm, &mine, 1, RINGSIDE_INT64, next, NULL, &sent));
  CHECK(!ringside_recv(comm, &got, 1, RINGSIDE_INT64, before, NULL, &received));
  finish(RINGSIDE_OK, received);
  finish(RINGSIDE_OK, sent);
  CHECK(got == before);

  if (me == 0) CHECK(!ringside_send(comm, &mine, 1, RINGSIDE_INT64, 1, NULL, NULL));
  if (me == 1) CHECK(!ringside_recv(comm, &got, 1, RINGSIDE_INT64, 0, NULL, NULL));
  if (me == 1) CHECK(got == 0);
}

static void groups(ringside_communicator* comm) {
  int32_t a = 1, b = 2;
  ringside_handle* handle = NULL;
  CHECK(!ringside_group_start());
  CHECK(!ringside_group_start());
  CHECK(!ringside_all_reduce(comm, &a, &a, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL));
  CHECK(!ringside_all_reduce(comm, &b, &b, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, &handle));
  CHECK_FAILS(ringside_wait(handle), RINGSIDE_INVALID_ARGUMENT, "group");
  CHECK(!ringside_group_end());
  CHECK(a == 1);
  CHECK(!ringside_group_end());
  CHECK(a == ranks);
  finish(RINGSIDE_OK, handle);
  CHECK(b == 2 * ranks);

  CHECK(!ringside_group_start());
  CHECK(!ringside_all_reduce(comm, &a, &a, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, &handle));
  CHECK(!ringside_group_discard());
  CHECK(ringside_wait(handle) == RINGSIDE_ABORTED);
  ringside_handle_destroy(handle);
  CHECK(a == ranks);
  CHECK(ringside_group_end() == RINGSIDE_INVALID_ARGUMENT);
}

/// The odd ranks and the even ones; rank 0 stays alone.
static void splits(ringside_communicator* comm) {
  const int me = ringside_rank(comm);
  ringside_communicator* part = NULL;
  int32_t data = me;
  CHECK(!ringside_split(comm, me == 0 ? RINGSIDE_NO_COLOR : me % 2, -me, &part));
  CHECK((part == NULL) == (me == 0));
  if (part != NULL) {
    CHECK(ringside_size(part) == (me % 2 == 1 ? 2 : 1));
    CHECK(ringside_rank(part) == (me == 1 ? 1 : 0)); /* ranked by -me */
    CHECK(!ringside_all_reduce(part, &data, &data, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL));
    CHECK(data == (me % 2 == 1 ? 4 : 2));
  }
  CHECK(!ringside_communicator_destroy(part));
  CHECK(!ringside_communicator_destroy(NULL));
  CHECK_FAILS(ringside_communicator_destroy(comm), RINGSIDE_INVALID_ARGUMENT, "ends with its run");
}

/// Refused alike on all ranks; the communicator works on.
static void bad_arguments(ringside_communicator* comm) {
  const size_t one = 1;
  int32_t in[2] = {1, 2}, out[2] = {0, 0};
  ringside_options unknown = RINGSIDE_OPTIONS;
  ringside_handle* handle;
  int done = 7;
  char text[8];

  CHECK_FAILS(ringside_all_reduce(NULL, in, out, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, &handle),
              RINGSIDE_INVALID_ARGUMENT, "the communicator is NULL");
  CHECK(handle == NULL);
  CHECK_FAILS(ringside_all_reduce(comm, NULL, out, 1, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "null input");
  CHECK_FAILS(ringside_all_reduce(comm, in, in + 1, 2, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "overlap");
  CHECK_FAILS(ringside_all_reduce(comm, in, out, 1, 99, RINGSIDE_SUM, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "unknown type or operator");
  CHECK_FAILS(ringside_all_reduce(comm, in, out, 1, RINGSIDE_INT32, -1, NULL, &handle),
              RINGSIDE_INVALID_ARGUMENT, "unknown type or operator");
  CHECK(handle == NULL);
  CHECK_FAILS(ringside_broadcast(comm, in, out, 1, RINGSIDE_INT32, ranks, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "root 4 is not a rank");
  CHECK_FAILS(ringside_reduce(comm, in, out, 1, RINGSIDE_INT32, RINGSIDE_SUM, -1, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "root -1 is not a rank");
  CHECK_FAILS(ringside_gather(comm, in, out, NULL, 4, RINGSIDE_INT32, 0, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "0 block lengths for 4 blocks");
  CHECK_FAILS(ringside_scatter(comm, in, NULL, &one, 1, RINGSIDE_INT32, 0, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "null output");
  CHECK_FAILS(ringside_all_to_all(comm, in, in, &one, 1, RINGSIDE_INT32, NULL, NULL),
              RINGSIDE_INVALID_ARGUMENT, "overlap");
  CHECK(ringside_reduce_scatter(comm, in, out, &one, 0, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL) ==
        RINGSIDE_INVALID_ARGUMENT);
  CHECK(ringside_send(comm, in, 1, RINGSIDE_INT32, ranks, NULL, NULL) == RINGSIDE_INVALID_ARGUMENT);
  CHECK(ringside_recv(comm, in, 1, RINGSIDE_INT32, -1, NULL, NULL) == RINGSIDE_INVALID_ARGUMENT);

  unknown.algorithm = "rnig";
  CHECK_FAILS(ringside_all_reduce(comm, in, out, 2, RINGSIDE_INT32, RINGSIDE_SUM, &unknown, NULL),
              RINGSIDE_BAD_INPUT, "there is no algorithm 'rnig'");
  unknown.algorithm = "./nowhere.json";
  CHECK_FAILS(ringside_all_reduce(comm, in, out, 2, RINGSIDE_INT32, RINGSIDE_SUM, &unknown, NULL),
              RINGSIDE_IO, "nowhere.json");
  CHECK_FAILS(ringside_algorithm_for(comm, 99, 8, 0, NULL, text, sizeof text, NULL),
              RINGSIDE_INVALID_ARGUMENT, "no collective 99");
  CHECK(ringside_algorithm_for(comm, 0, 8, 0, NULL, NULL, 8, NULL) == RINGSIDE_INVALID_ARGUMENT);
  CHECK_FAILS(ringside_explain(comm, 99, 8, 0, NULL, text, sizeof text, NULL),
              RINGSIDE_INVALID_ARGUMENT, "no collective 99");
  CHECK(text[0] == '\0');

  CHECK_FAILS(ringside_split(comm, 0, 0, NULL), RINGSIDE_INVALID_ARGUMENT, "NULL");
  CHECK_FAILS(ringside_wait(NULL), RINGSIDE_INVALID_ARGUMENT, "the handle is NULL");
  CHECK_FAILS(ringside_test(NULL, &done), RINGSIDE_INVALID_ARGUMENT, "the handle is NULL");
  CHECK(done == 0);
  CHECK_FAILS(ringside_abort(comm, NULL), RINGSIDE_INVALID_ARGUMENT, "the reason is NULL");
  ringside_handle_destroy(NULL);

  CHECK(!ringside_all_reduce(comm, in, out, 2, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL));
  CHECK(out[1] == 2 * ranks);
}

static void mismatch(ringside_communicator* comm) {
  int32_t data[2] = {1, 1};
  const size_t elements = ringside_rank(comm) == 1 ? 2 : 1;
  CHECK_FAILS(
      ringside_all_reduce(comm, data, data, elements, RINGSIDE_INT32, RINGSIDE_SUM, NULL, NULL),
      RINGSIDE_MISMATCH, "elements (1 and 2)");
  CHECK(data[0] == 1);
  CHECK(!ringside_barrier(comm, NULL, NULL));
}

static int everything(ringside_communicator* comm, void* user) {
  CHECK(*(int*)user == 42);
  CHECK(ringside_size(comm) == ranks);
  CHECK(ringside_rank(comm) >= 0 && ringside_rank(comm) < ranks);
  collectives(comm, 0);
  collectives(comm, 1);
  unequal_blocks(comm);
  options(comm);
  messages(comm);
  groups(comm);
  splits(comm);
  bad_arguments(comm);
  mismatch(comm);
  return RINGSIDE_OK;
}

static int aborts(ringside_communicator* comm, void* user) {
  (void)user;
  if (ringside_rank(comm) == 0) {
    CHECK(!ringside_abort(comm, "enough"));
  } else {
    const ringside_status status = ringside_barrier(comm, NULL, NULL);
    CHECK(status == RINGSIDE_ABORTED || status == RINGSIDE_FAILED); /* it may have come earlier */
    CHECK(strstr(ringside_last_error(), "aborted: enough") != NULL);
  }
  CHECK_FAILS(ringside_barrier(comm, NULL, NULL), RINGSIDE_FAILED, "aborted: enough");
  return RINGSIDE_OK;
}

/// A body's own number comes back, and nobody waits for the rank that has given up.
static int gives_up(ringside_communicator* comm, void* user) {
  ringside_status status;
  (void)user;
  if (ringside_rank(comm) == 2) return 1234;
  status = ringside_barrier(comm, NULL, NULL);
  CHECK(status == RINGSIDE_ABORTED || status == RINGSIDE_FAILED); /* it may have come earlier */
  return RINGSIDE_OK;
}

static int fails(ringside_communicator* comm, void* user) {
  ringside_options wrong = RINGSIDE_OPTIONS;
  float data = 0;
  (void)user;
  wrong.algorithm = "rnig";
  return ringside_all_reduce(comm, &data, &data, 1, RINGSIDE_FLOAT32, RINGSIDE_SUM, &wrong, NULL);
}

static void worlds(void) {
  ringside_world* world = NULL;
  int user = 42;
  CHECK_FAILS(ringside_world_threads(0, &world), RINGSIDE_INVALID_ARGUMENT, "0 threads");
  CHECK(world == NULL);
  CHECK_FAILS(ringside_world_threads(2, NULL), RINGSIDE_INVALID_ARGUMENT, "NULL");
  CHECK_FAILS(ringside_world_run(NULL, everything, NULL), RINGSIDE_INVALID_ARGUMENT,
              "the world is NULL");
  CHECK(ringside_world_size(NULL) == -1 && ringside_rank(NULL) == -1 && ringside_size(NULL) == -1);
  ringside_world_destroy(NULL);

  CHECK(!ringside_world_threads(ranks, &world));
  if (world == NULL) return;
  CHECK(ringside_world_size(world) == ranks);
  CHECK_FAILS(ringside_world_run(world, NULL, NULL), RINGSIDE_INVALID_ARGUMENT, "the body is NULL");
  CHECK(!ringside_world_run(world, everything, &user));
  CHECK(!ringside_world_run(world, aborts, NULL));
  CHECK_FAILS(ringside_world_run(world, gives_up, NULL), 1234, "rank 2 returned 1234");
  CHECK_FAILS(ringside_world_run(world, fails, NULL), RINGSIDE_BAD_INPUT, "no algorithm 'rnig'");
  CHECK(!ringside_world_run(world, everything, &user)); /* every run begins afresh */
  ringside_world_destroy(world);
}

static void setup(const char* plugin) {
  CHECK(strcmp(ringside_last_error(), "") == 0);
  CHECK(strlen(ringside_version()) >= strlen("0.1.0"));
  CHECK(strcmp(ringside_status_name(RINGSIDE_OK), "ok") == 0);
  CHECK(strcmp(ringside_status_name(RINGSIDE_MISMATCH), "mismatch") == 0);
  CHECK(strcmp(ringside_status_name(RINGSIDE_INTERNAL), "internal") == 0);
  CHECK(strcmp(ringside_status_name(RINGSIDE_DEVICE), "device") == 0);
  CHECK(strcmp(ringside_status_name(RINGSIDE_CORRUPTED), "corrupted") == 0);
  CHECK(strcmp(ringside_status_name(-1), "unknown") == 0);
  CHECK(strcmp(ringside_status_name(12), "unknown") == 0);
  CHECK(!ringside_set_option("timeout", "30s"));
  CHECK_FAILS(ringside_set_option("timeout", "soon"), RINGSIDE_BAD_INPUT, "timeout");
  CHECK_FAILS(ringside_set_option(NULL, "1"), RINGSIDE_INVALID_ARGUMENT, "the name is NULL");
  CHECK_FAILS(ringside_set_option("timeout", NULL), RINGSIDE_INVALID_ARGUMENT, "the value is NULL");
  CHECK_FAILS(ringside_load_plugin(NULL), RINGSIDE_INVALID_ARGUMENT, "the path is NULL");
  CHECK_FAILS(ringside_load_plugin("./nowhere.so"), RINGSIDE_IO, "nowhere.so");
  CHECK(!ringside_load_plugin(plugin));
}

static int with_star(ringside_communicator* comm, void* user) {
  ringside_options star = RINGSIDE_OPTIONS;
  double data = 1.5;
  (void)user;
  star.algorithm = "star:centre=1";
  CHECK(!ringside_all_reduce(comm, &data, &data, 1, RINGSIDE_FLOAT64, RINGSIDE_SUM, &star, NULL));
  CHECK(data == 1.5 * ranks);
  return RINGSIDE_OK;
}

int main(int argc, char** argv) {
  ringside_world* world = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: calls PLUGIN\n");
    return 2;
  }
  setup(argv[1]);
  worlds();
  CHECK(!ringside_world_threads(ranks, &world));
  CHECK(!ringside_world_run(world, with_star, NULL));
  ringside_world_destroy(world);
  if (failures == 0) printf("every function of ringside.h does what it says\n");
  return failures;
}
