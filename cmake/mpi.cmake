# SPDX-License-Identifier: MIT
# Looks for MPIs: ranks that are processes, and libraries to compare with. The library links none, so
# there may be several, or none. Sets RINGSIDE_MPIS_FOUND (of: openmpi mpich), RINGSIDE_MPI_SUMMARY, and
# for each a target ringside_<name> to link.

set(RINGSIDE_MPIS_FOUND)
set(RINGSIDE_MPI_SUMMARY OFF)
if(NOT RINGSIDE_MPI)
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
  set(RINGSIDE_MPIS_FOUND ${RINGSIDE_MPIS_FOUND} ${name} PARENT_SCOPE)
endfunction()

set(CMAKE_REQUIRED_QUIET ON)
ringside_find_mpi(openmpi OPEN_MPI mpicxx.openmpi mpicc.openmpi mpicc)
ringside_find_mpi(mpich MPICH_VERSION mpicc.mpich mpicc)
unset(CMAKE_REQUIRED_QUIET)

if(RINGSIDE_MPIS_FOUND)
  list(JOIN RINGSIDE_MPIS_FOUND "+" RINGSIDE_MPI_SUMMARY)
elseif(RINGSIDE_MPI STREQUAL "AUTO")
  set(RINGSIDE_MPI_SUMMARY "not-found")
else()
  message(FATAL_ERROR "RINGSIDE_MPI=ON: no MPI was found (Debian: libopenmpi-dev, or libmpich-dev)")
endif()
