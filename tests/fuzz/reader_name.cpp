// SPDX-License-Identifier: MIT
#include "ringside/tests/fuzz/reader_name.hpp"

const char* const ringside::fuzz::reader_name = RINGSIDE_FUZZ_READER;
