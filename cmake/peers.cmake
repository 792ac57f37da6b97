# SPDX-License-Identifier: MIT
# Looks for the libraries that the benchmark is compared with; the library itself needs none.
# Sets RINGSIDE_PEERS_FOUND (those found, of: openmpi mpich gloo), RINGSIDE_PEERS_SUMMARY, and for each
# found MPI a target ringside_<name> to link.

set(RINGSIDE_PEERS_FOUND)
set(RINGSIDE_PEERS_SUMMARY OFF)
# What starts their ranks, looked for in the PATH when the benchmark runs.
set(RINGSIDE_OPENMPI_LAUNCHER mpirun)
set(RINGSIDE_MPICH_LAUNCHER mpirun)
find_program(RINGSIDE_OPENMPI_MPIRUN mpirun.openmpi)
find_program(RINGSIDE_MPICH_MPIRUN mpirun.mpich)
mark_as_advanced(RINGSIDE_OPENMPI_MPIRUN RINGSIDE_MPICH_MPIRUN)
if(RINGSIDE_OPENMPI_MPIRUN)
  set(RINGSIDE_OPENMPI_LAUNCHER mpirun.openmpi)
endif()
if(RINGSIDE_MPICH_MPIRUN)
  set(RINGSIDE_MPICH_LAUNCHER mpirun.mpich)
endif()
if(NOT RINGSIDE_PEERS OR NOT RINGSIDE_BENCH)
  return()
endif()

include(CheckCXXSourceCompiles)

# ringside_find_mpi(NAME MACRO WRAPPER...): asks the first compiler wrapper found for its flags, and
# takes them if its mpi.h defines MACRO. find_package(MPI) finds one MPI only, and Debian can have
# several, each with wrappers of its own name.
function(ringside_find_mpi name macro)
  find_program(RINGSIDE_${name}_WRAPPER NAMES ${ARGN})
  mark_as_advanced(RINGSIDE_${name}_WRAPPER)
  if(NOT RINGSIDE_${name}_WRAPPER)
    return()
  endif()
  execute_process(COMMAND ${RINGSIDE_${name}_WRAPPER} -show OUTPUT_VARIABLE line
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words)  # the compiler
  set(includes ${words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(links ${words})
  list(FILTER links INCLUDE REGEX "^-([lL]|Wl,)")

  set(CMAKE_REQUIRED_INCLUDES ${includes})
  set(CMAKE_REQUIRED_LIBRARIES ${links})
  set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  check_cxx_source_compiles("#include <mpi.h>
    #ifndef ${macro}
    #error another MPI
    #endif
    int main(int argc, char** argv) { return MPI_Init(&argc, &argv); }" RINGSIDE_${name}_WORKS)
  if(NOT RINGSIDE_${name}_WORKS)
    return()
  endif()
  add_library(ringside_${name} INTERFACE)
  target_include_directories(ringside_${name} SYSTEM INTERFACE ${includes})
  target_link_libraries(ringside_${name} INTERFACE ${links})
  target_compile_definitions(ringside_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(RINGSIDE_PEERS_FOUND ${RINGSIDE_PEERS_FOUND} ${name} PARENT_SCOPE)
endfunction()

set(CMAKE_REQUIRED_QUIET ON)
ringside_find_mpi(openmpi OPEN_MPI mpicxx.openmpi mpicc.openmpi mpicc)
ringside_find_mpi(mpich MPICH_VERSION mpicc.mpich mpicc)
unset(CMAKE_REQUIRED_QUIET)

find_package(Gloo CONFIG QUIET)
if(TARGET gloo)
  list(APPEND RINGSIDE_PEERS_FOUND gloo)
endif()

if(RINGSIDE_PEERS_FOUND)
  list(JOIN RINGSIDE_PEERS_FOUND "+" RINGSIDE_PEERS_SUMMARY)
else()
  set(RINGSIDE_PEERS_SUMMARY "not-found")
endif()
if(NOT RINGSIDE_PEERS STREQUAL "AUTO")
  foreach(name openmpi mpich gloo)
    if(NOT name IN_LIST RINGSIDE_PEERS_FOUND)
      message(FATAL_ERROR "RINGSIDE_PEERS=ON: ${name} was not found "
                          "(Debian: libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev)")
    endif()
  endforeach()
endif()
