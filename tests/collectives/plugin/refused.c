// SPDX-License-Identifier: MIT
/// Shared objects that cannot be loaded as plug-ins: compiled once for each fault (see
/// CMakeLists.txt), which is a macro.
#include <ringside/ringside_algorithm.h>

#if defined(NO_SYMBOL)

extern int nothing_of_interest;
int nothing_of_interest = 1;

#else

static int32_t build(const ringside_request_v1* request, const ringside_argument_v1* arguments,
                     size_t argument_count, ringside_sink_v1* sink) {
  (void)request, (void)arguments, (void)argument_count, (void)sink;
  return RINGSIDE_BUILD_FAILED;
}

/// Right in itself, and to be found nowhere: it comes with one that is not.
static const ringside_algorithm_v1 companion = {sizeof companion,
                                                RINGSIDE_ALGORITHM_VERSION,
                                                "companion",
                                                "is all right",
                                                NULL,
                                                RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
                                                0,
                                                NULL,
                                                NULL,
                                                build};

static const ringside_algorithm_v1 faulty = {
#if defined(WRONG_VERSION)
    sizeof faulty,
    2,
    "faulty",
    "is of the future",
    NULL,
    RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    0,
    NULL,
    NULL,
    build
#elif defined(NULL_FUNCTION)
    sizeof faulty,
    RINGSIDE_ALGORITHM_VERSION,
    "faulty",
    "builds nothing",
    NULL,
    RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    0,
    NULL,
    NULL,
    NULL
#elif defined(TAKEN_NAME)
    sizeof faulty,
    RINGSIDE_ALGORITHM_VERSION,
    "ring",
    "is no ring",
    NULL,
    RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    0,
    NULL,
    NULL,
    build
#elif defined(BAD_NAME)
    sizeof faulty,
    RINGSIDE_ALGORITHM_VERSION,
    "./ring",
    "is no name",
    NULL,
    RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    0,
    NULL,
    NULL,
    build
#else
    sizeof faulty,
    RINGSIDE_ALGORITHM_VERSION,
    "faulty",
    "is not listed",
    NULL,
    RINGSIDE_SERVES(RINGSIDE_ALL_REDUCE),
    0,
    NULL,
    NULL,
    build
#endif
};

static const ringside_algorithm_v1* const algorithms[] = {&companion, &faulty};

const ringside_algorithm_v1* const* ringside_algorithms_v1(size_t* count) {
#if defined(NOTHING_LISTED)
  *count = 0;
#else
  *count = 2;
#endif
  return algorithms;
}

#endif
