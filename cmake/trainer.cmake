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

# A wheel of the Python package index is linked as it lies: its own CMake files ask for the CUDA toolkit that it
# was made with, and models are computed at the host.
set(RINGSIDE_TORCH_WHEEL "" CACHE PATH "The folder `torch` of an installed wheel, instead of find_package(Torch)")
if(RINGSIDE_TORCH_WHEEL)
  if(NOT EXISTS ${RINGSIDE_TORCH_WHEEL}/lib/libtorch_cpu.so OR NOT EXISTS ${RINGSIDE_TORCH_WHEEL}/version.py)
    message(FATAL_ERROR "RINGSIDE_TORCH_WHEEL: ${RINGSIDE_TORCH_WHEEL} has no lib/libtorch_cpu.so and version.py")
  endif()
  file(STRINGS ${RINGSIDE_TORCH_WHEEL}/version.py Torch_VERSION REGEX "^__version__")
  string(REGEX REPLACE ".*['\"](.*)['\"]" "\\1" Torch_VERSION "${Torch_VERSION}")
  set(TORCH_INCLUDE_DIRS ${RINGSIDE_TORCH_WHEEL}/include ${RINGSIDE_TORCH_WHEEL}/include/torch/csrc/api/include)
  set(TORCH_LIBRARIES ${RINGSIDE_TORCH_WHEEL}/lib/libtorch_cpu.so ${RINGSIDE_TORCH_WHEEL}/lib/libc10.so)
  set(RINGSIDE_HAVE_TORCH ON)
  set(RINGSIDE_TRAINER_SUMMARY "libtorch ${Torch_VERSION} (wheel)")
# Debian's headers do not compile with Clang 14 in C++20.
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(Torch ${required} QUIET)
  if(Torch_FOUND)
    set(RINGSIDE_HAVE_TORCH ON)
    set(RINGSIDE_TRAINER_SUMMARY "libtorch ${Torch_VERSION}")
  endif()
endif()
