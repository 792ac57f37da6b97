# SPDX-License-Identifier: MIT
# Writes the header that names the commit a build was made from; run by every build, and cheap: the
# header changes only when the commit does.  cmake -DSOURCE=... -DHEADER=... -P source_commit.cmake
set(commit "unknown")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT [[
// Made by source_commit.cmake.
#pragma once

namespace ringside::bench {
inline constexpr const char* source_commit = "@commit@";
}
]])
