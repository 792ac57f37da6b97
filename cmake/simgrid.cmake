# SPDX-License-Identifier: MIT
# SimGrid, a simulator that tests and benchmarks of the flow engine compare with, where it is
# installed (Debian: libsimgrid-dev). Sets RINGSIDE_SIMGRID_FOUND and makes the target simgrid.
find_path(RINGSIDE_SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(RINGSIDE_SIMGRID_LIBRARY simgrid)
mark_as_advanced(RINGSIDE_SIMGRID_INCLUDE RINGSIDE_SIMGRID_LIBRARY)
set(RINGSIDE_SIMGRID_FOUND OFF)
if(RINGSIDE_SIMGRID_INCLUDE AND RINGSIDE_SIMGRID_LIBRARY)
  set(RINGSIDE_SIMGRID_FOUND ON)
  add_library(simgrid INTERFACE IMPORTED)
  target_include_directories(simgrid SYSTEM INTERFACE ${RINGSIDE_SIMGRID_INCLUDE})
  target_link_libraries(simgrid INTERFACE ${RINGSIDE_SIMGRID_LIBRARY})
endif()
