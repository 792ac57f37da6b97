# SPDX-License-Identifier: MIT
# What the trainer needs: zlib for the data, and libtorch, without which only its smallest model
# computes. Sets RINGSIDE_HAVE_TRAINER, RINGSIDE_HAVE_TORCH and RINGSIDE_TRAINER_SUMMARY.
set(RINGSIDE_HAVE_TRAINER OFF)
set(RINGSIDE_HAVE_TORCH OFF)
set(RINGSIDE_TRAINER_SUMMARY OFF)
if(NOT RINGSIDE_TRAINER)
  return()
endif()

set(required)
if(NOT RINGSIDE_TRAINER STREQUAL "AUTO")
  set(required REQUIRED)
endif()
find_package(ZLIB ${required} QUIET)
if(NOT ZLIB_FOUND)
  return()
endif()
set(RINGSIDE_HAVE_TRAINER ON)
set(RINGSIDE_TRAINER_SUMMARY "without libtorch")

# Its headers do not compile with Clang 14 in C++20.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(Torch ${required} QUIET)
  if(Torch_FOUND)
    set(RINGSIDE_HAVE_TORCH ON)
    set(RINGSIDE_TRAINER_SUMMARY "libtorch ${Torch_VERSION}")
  endif()
endif()
