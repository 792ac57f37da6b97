# SPDX-License-Identifier: MIT
# cmake -D build= -D work= -D consumer= -D compiler= -D c_compiler= -D launcher= -D generator=
#       -D python= -D source= -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix)

# Builds the project in a folder against what was installed.
function(build_outside folder into)
  run(${CMAKE_COMMAND} -S ${folder} -B ${into} -G ${generator} -D CMAKE_BUILD_TYPE=Release
      -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_C_COMPILER=${c_compiler}
      -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher}
      -D CMAKE_PREFIX_PATH=${work}/prefix)
  run(${CMAKE_COMMAND} --build ${into})
endfunction()

build_outside(${consumer} ${work}/build)
run(${work}/build/consumer)
run(${work}/build/consumer_c)

if(python)  # the README's program
  run(${python} ${source}/tests/docs/documents.py ${source}/README.md ${work}/readme)
  build_outside(${work}/readme/my_program ${work}/readme/build)
  run(${work}/readme/build/my_program)
endif()

# Nothing installed may point back into the tree or the build folder.
file(GLOB_RECURSE package_files ${work}/prefix/*.cmake ${work}/prefix/*.hpp ${work}/prefix/*.h)
foreach(file ${package_files})
  file(READ ${file} text)
  string(FIND "${text}" "${build}" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} names the build folder")
  endif()
endforeach()
