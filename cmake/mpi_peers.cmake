# SPDX-License-Identifier: MIT
# Looks for the MPI that the benchmark is compared with; the library itself does not need one.
# Sets RINGSIDE_HAVE_MPI_PEERS; the peers link MPI::MPI_CXX.

set(RINGSIDE_HAVE_MPI_PEERS OFF)
set(RINGSIDE_MPI_PEERS_SUMMARY OFF)
if(NOT RINGSIDE_MPI_PEERS OR NOT RINGSIDE_BENCH)
  return()
endif()

set(MPI_CXX_SKIP_MPICXX ON)  # only the C interface is used
if(RINGSIDE_MPI_PEERS STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
else()
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
if(MPI_CXX_FOUND)
  set(RINGSIDE_HAVE_MPI_PEERS ON)
  set(RINGSIDE_MPI_PEERS_SUMMARY ON)
else()
  set(RINGSIDE_MPI_PEERS_SUMMARY "not-found")
endif()
