# SPDX-License-Identifier: MIT
# Installs the library, its headers and the package files that `find_package(Ringside)` reads.
# The program installs itself (tools/cli).

include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Ringside)
install(TARGETS ringside EXPORT RingsideTargets)
foreach(folder base topology collectives)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ringside
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
          PATTERN handles.hpp EXCLUDE  # needs mpi.h; sources only
          PATTERN json_write.hpp EXCLUDE  # need nlohmann-json; sources only
          PATTERN facts_json.hpp EXCLUDE
          PATTERN fact_values.hpp EXCLUDE
          PATTERN json_value.hpp EXCLUDE)
endforeach()
foreach(header ringside.hpp ringside.h ringside_algorithm.h)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${header})
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ringside)
  endif()
endforeach()

# A static library leaves the linking of the CUDA runtime to whoever links it.
get_target_property(library_type ringside TYPE)
set(RINGSIDE_LINKS_CUDA OFF)
if(RINGSIDE_HAVE_CUDA AND library_type STREQUAL "STATIC_LIBRARY")
  set(RINGSIDE_LINKS_CUDA ON)
endif()
install(EXPORT RingsideTargets NAMESPACE Ringside:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/RingsideConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/RingsideConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RingsideConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RingsideConfig.cmake
              ${PROJECT_BINARY_DIR}/RingsideConfigVersion.cmake
        DESTINATION ${package_folder})
