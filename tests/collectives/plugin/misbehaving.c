// SPDX-License-Identifier: MIT
/// A plug-in of algorithms that must not run: each is loaded, and refused when it is asked for a
/// plan. (And one that is right, but has a plan for every value of its parameter.)
#include <ringside/ringside_algorithm.h>

static int32_t one_chunk(ringside_sink_v1* sink) {
  const ringside_shape_v1 shape = {sizeof shape, 1, 1, 1};
  return sink->set_shape(sink, &shape);
}

/// Rank `at` adds what `from` has to its own, or (sources = 1) takes it over.
static int32_t take(ringside_sink_v1* sink, int32_t at, int32_t from, uint32_t sources) {
  const ringside_location_v1 places[3] = {
      {from, RINGSIDE_RUNNING, 0, 0}, {at, RINGSIDE_RUNNING, 0, 0}, {at, RINGSIDE_RUNNING, 0, 0}};
  const ringside_op_v1 op = {sizeof op, at, 0, 1, sources, 1, places, &places[2]};
  return sink->add_op(sink, &op);
}

static int32_t star(ringside_sink_v1* sink, int32_t ranks, int32_t centre, int32_t last_fetched) {
  int32_t rank;
  if (one_chunk(sink) < 0) return RINGSIDE_BUILD_FAILED;
  for (rank = 0; rank < ranks; ++rank)
    if (rank != centre && take(sink, centre, rank, 2) < 0) return RINGSIDE_BUILD_FAILED;
  for (rank = 0; rank <= last_fetched; ++rank)
    if (rank != centre && take(sink, rank, centre, 1) < 0) return RINGSIDE_BUILD_FAILED;
  return RINGSIDE_BUILD_OK;
}

/// Forgets to give the last rank the sum.
static int32_t build_wrong(const ringside_request_v1* request,
                           const ringside_argument_v1* arguments, size_t argument_count,
                           ringside_sink_v1* sink) {
  (void)arguments, (void)argument_count;
  return star(sink, request->ranks, 0, request->ranks - 2);
}

/// Another rank does the work every time: right each time, and still no plan.
static int32_t build_drifting(const ringside_request_v1* request,
                              const ringside_argument_v1* arguments, size_t argument_count,
                              ringside_sink_v1* sink) {
  static int32_t calls = 0;
  (void)arguments, (void)argument_count;
  return star(sink, request->ranks, calls++ % request->ranks, request->ranks - 1);
}

static int32_t build_failing(const ringside_request_v1* request,
                             const ringside_argument_v1* arguments, size_t argument_count,
                             ringside_sink_v1* sink) {
  (void)request, (void)arguments, (void)argument_count;
  sink->explain(sink, "not in the mood");
  return RINGSIDE_BUILD_FAILED;
}

/// Adds what a rank has that does not exist.
static int32_t build_stray(const ringside_request_v1* request,
                           const ringside_argument_v1* arguments, size_t argument_count,
                           ringside_sink_v1* sink) {
  (void)arguments, (void)argument_count;
  if (one_chunk(sink) < 0) return RINGSIDE_BUILD_FAILED;
  (void)take(sink, 0, request->ranks, 2);
  return RINGSIDE_BUILD_OK; /* as if nothing had happened */
}

static const char* supports_pairs(const ringside_request_v1* request) {
  return request->ranks % 2 == 0 ? NULL : "needs an even number of ranks";
}

/// Right for any centre, of one digit: a stand-in for one that answers by where it runs.
static int32_t build_local(const ringside_request_v1* request,
                           const ringside_argument_v1* arguments, size_t argument_count,
                           ringside_sink_v1* sink) {
  const int32_t centre = argument_count > 0 ? arguments[0].value[0] - '0' : 0;
  return star(sink, request->ranks, centre, request->ranks - 1);
}

static const ringside_parameter_v1 centre[] = {{"centre", "0", "the rank that does the work"}};

#define ALL_REDUCE(name, summary, parameter_count, parameters, supports)           \
  static const ringside_algorithm_v1 name = {sizeof name,                          \
                                             RINGSIDE_ALGORITHM_VERSION,           \
                                             #name,                                \
                                             summary,                              \
                                             NULL,                                 \
                                             RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE), \
                                             parameter_count,                      \
                                             parameters,                           \
                                             supports,                             \
                                             build_##name}
#define build_pairs build_wrong

ALL_REDUCE(wrong, "forgets the last rank", 0, NULL, NULL);
ALL_REDUCE(drifting, "answers differently every time", 0, NULL, NULL);
ALL_REDUCE(failing, "returns an error", 0, NULL, NULL);
ALL_REDUCE(stray, "names a rank too many", 0, NULL, NULL);
ALL_REDUCE(pairs, "refuses odd numbers", 0, NULL, supports_pairs);
ALL_REDUCE(local, "has a plan for every centre", 1, centre, NULL);

static const ringside_algorithm_v1* const algorithms[] = {&wrong, &drifting, &failing,
                                                          &stray, &pairs,    &local};

const ringside_algorithm_v1* const* ringside_algorithms_v1(size_t* count) {
  *count = sizeof algorithms / sizeof algorithms[0];
  return algorithms;
}
