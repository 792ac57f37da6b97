# SPDX-License-Identifier: MIT
# Enables CUDA when it is wanted, there is a compiler, and there is something to compile.
# Sets RINGSIDE_HAVE_CUDA; targets with .cu sources link ringside_cuda_flags (PRIVATE) as well.

set(RINGSIDE_HAVE_CUDA OFF)
set(RINGSIDE_CUDA_SUMMARY OFF)
if(NOT RINGSIDE_CUDA)
  return()
endif()

# Starting nvcc at configure time takes seconds, so a tree without device code does not.
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/collectives/*.cu
     ${PROJECT_SOURCE_DIR}/bench/*.cu ${PROJECT_SOURCE_DIR}/tests/*.cu)
if(NOT cuda_sources)
  set(RINGSIDE_CUDA_SUMMARY "nothing-to-compile")
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  find_program(RINGSIDE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT RINGSIDE_NVCC)
    if(RINGSIDE_CUDA STREQUAL "AUTO")
      set(RINGSIDE_CUDA_SUMMARY "no-nvcc")
      return()
    endif()
    message(FATAL_ERROR "RINGSIDE_CUDA=ON, but no nvcc was found (set CMAKE_CUDA_COMPILER)")
  endif()
  set(CMAKE_CUDA_COMPILER ${RINGSIDE_NVCC} CACHE FILEPATH "CUDA compiler")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(ringside_choose_architectures ON)
  set(CMAKE_CUDA_ARCHITECTURES 75)  # any, so that the compiler check below has one
endif()
# The shared runtime, so that the test double can take its place.
if(NOT DEFINED CMAKE_CUDA_RUNTIME_LIBRARY)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(ringside_choose_architectures)
  # Turing to Blackwell; sm_100 and sm_120 appeared in CUDA 12.8.
  # Code for each, which also runs on later minor versions; intermediate code once, for what follows.
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND CMAKE_CUDA_ARCHITECTURES 90-real 100-real 120)
  else()
    list(APPEND CMAKE_CUDA_ARCHITECTURES 90)
  endif()
endif()

add_library(ringside_cuda_flags INTERFACE)
target_include_directories(ringside_cuda_flags INTERFACE ${PROJECT_BINARY_DIR}/include)
# -std: CMake 3.25 does not know that nvcc has C++20, and would add its default to a target without
# extensions.
set(CMAKE_CUDA_EXTENSIONS ON)
# -fmad=false and -ffp-contract=off: host and device give the same bits.
target_compile_options(ringside_cuda_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -fmad=false --expt-relaxed-constexpr
    -Xptxas=-warn-spills,-warn-lmem-usage -Wdefault-stream-launch
    -Xcompiler=-ffp-contract=off,-Wall,-Wextra>)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
  # tools/check_cubins.py reads the device code.
  target_compile_options(ringside_cuda_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--no-compress>)
endif()
if(RINGSIDE_WERROR)
  target_compile_options(ringside_cuda_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
endif()
set(RINGSIDE_HAVE_CUDA ON)
list(JOIN CMAKE_CUDA_ARCHITECTURES "," architectures)
set(RINGSIDE_CUDA_SUMMARY "${CMAKE_CUDA_COMPILER_VERSION}(${architectures})")
