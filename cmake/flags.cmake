# SPDX-License-Identifier: MIT
# ringside_flags: what every target of this project is compiled with. Link it PRIVATE.

# Headers stand beside their sources and are included as "ringside/<folder>/<file>.hpp"; one link
# makes that path true in the tree, as it is after installation.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/ringside SYMBOLIC)

add_library(ringside_flags INTERFACE)
target_include_directories(ringside_flags INTERFACE ${PROJECT_BINARY_DIR}/include)
target_compile_features(ringside_flags INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)

# Contraction (a*b+c in one rounding) depends on the instruction set, and the same plan must give
# the same bits on every machine.
target_compile_options(ringside_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow
    -Wnon-virtual-dtor -Woverloaded-virtual
    -ffile-prefix-map=${PROJECT_BINARY_DIR}/include/ringside/= -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms about concatenated std::string (gcc bug 105651).
  target_compile_options(ringside_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(RINGSIDE_WERROR)
  target_compile_options(ringside_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# What C code is compiled with: examples and tests of the C headers, which are C99 and nothing more.
add_library(ringside_c_flags INTERFACE)
target_include_directories(ringside_c_flags INTERFACE ${PROJECT_BINARY_DIR}/include)
target_compile_options(ringside_c_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes>)
if(RINGSIDE_WERROR)
  target_compile_options(ringside_c_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()

if(RINGSIDE_SANITIZE)
  set(sanitize -fsanitize=${RINGSIDE_SANITIZE} -fno-omit-frame-pointer)
  if(RINGSIDE_SANITIZE MATCHES undefined)
    list(APPEND sanitize -fno-sanitize-recover=all)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      list(APPEND sanitize -fno-sanitize=function)  # clang 14 cannot compile coroutines with it
    endif()
  endif()
  if(RINGSIDE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It does not see fences. Ours order atomic flags; no data rely on them alone.
    list(APPEND sanitize -Wno-tsan)
  endif()
  target_compile_options(ringside_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
  target_link_options(ringside_flags INTERFACE -fsanitize=${RINGSIDE_SANITIZE})
  # A program's runtime comes first; that of a shared library alone would come too late.
  target_link_options(ringside_c_flags INTERFACE -fsanitize=${RINGSIDE_SANITIZE})
endif()
