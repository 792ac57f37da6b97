# SPDX-License-Identifier: MIT
# Looks for the libraries that the benchmark is compared with; the library itself needs none.
# Sets RINGSIDE_PEERS_FOUND (those found, of: openmpi mpich gloo) and RINGSIDE_PEERS_SUMMARY.

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

list(APPEND RINGSIDE_PEERS_FOUND ${RINGSIDE_MPIS_FOUND})

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
