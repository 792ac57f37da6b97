// SPDX-License-Identifier: MIT
/// An all-reduce in a shared object, in C99: every rank's data are added at one rank, the centre,
/// which then hands out the sum.
///
///     cc -std=c99 -shared -fPIC -o star.so plugin_star.c
///     ringside --plugin ./star.so plan star --ranks 4
///     ringside --plugin ./star.so bench -a star,naive,ring
#include <ringside/ringside_algorithm.h>

#include <stdlib.h>

/// The number that the parameter `centre` names, 0 where it is not given; -1: it is no rank.
static int32_t read_centre(const ringside_argument_v1* arguments, size_t count, int32_t ranks) {
  int32_t centre = 0;
  size_t i;
  for (i = 0; i < count; ++i) { /* there is but one parameter */
    char* end;
    const long value = strtol(arguments[i].value, &end, 10);
    if (*end != '\0' || end == arguments[i].value || value < 0 || value >= ranks) return -1;
    centre = (int32_t)value;
  }
  return centre;
}

/// Rank `at` adds the running value of `from` to its own.
static int32_t add(ringside_sink_v1* sink, int32_t at, int32_t from) {
  const ringside_location_v1 both[2] = {{at, RINGSIDE_RUNNING, 0, 0},
                                        {from, RINGSIDE_RUNNING, 0, 0}};
  const ringside_op_v1 op = {sizeof op, at, 0, 1, 2, 1, both, &both[0]};
  return sink->add_op(sink, &op);
}

/// Rank `to` fetches the running value of `from`.
static int32_t fetch(ringside_sink_v1* sink, int32_t to, int32_t from) {
  const ringside_location_v1 source = {from, RINGSIDE_RUNNING, 0, 0};
  const ringside_location_v1 destination = {to, RINGSIDE_RUNNING, 0, 0};
  const ringside_op_v1 op = {sizeof op, to, 0, 1, 1, 1, &source, &destination};
  return sink->add_op(sink, &op);
}

static int32_t build(const ringside_request_v1* request, const ringside_argument_v1* arguments,
                     size_t argument_count, ringside_sink_v1* sink) {
  const ringside_shape_v1 shape = {sizeof shape, 1, 1, 1};
  const int32_t centre = read_centre(arguments, argument_count, request->ranks);
  int32_t rank;
  if (centre < 0) {
    sink->explain(sink, "centre must be a rank");
    return RINGSIDE_BUILD_BAD_ARGUMENT;
  }
  if (sink->set_shape(sink, &shape) < 0) return RINGSIDE_BUILD_FAILED;
  for (rank = 0; rank < request->ranks; ++rank)
    if (rank != centre && add(sink, centre, rank) < 0) return RINGSIDE_BUILD_FAILED;
  for (rank = 0; rank < request->ranks; ++rank)
    if (rank != centre && fetch(sink, rank, centre) < 0) return RINGSIDE_BUILD_FAILED;
  return RINGSIDE_BUILD_OK;
}

static const ringside_parameter_v1 parameters[] = {
    {"centre", "0", "the rank that does the work"},
};

static const ringside_algorithm_v1 star = {
    sizeof star, RINGSIDE_ALGORITHM_VERSION,
    "star",      "all data are added at one rank, which hands out the sum",
    NULL,        RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    1,           parameters,
    NULL,        build,
};

static const ringside_algorithm_v1* const algorithms[] = {&star};

const ringside_algorithm_v1* const* ringside_algorithms_v1(size_t* count) {
  *count = 1;
  return algorithms;
}
