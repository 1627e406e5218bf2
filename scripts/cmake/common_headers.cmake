# The headers that most files include, compiled once instead of once a file, and eight files of a floor compiled as one: more
# than half of the build's time. Both hide an #include that a file lacks, therefore debug, asan and tsan builds compile every
# file by itself. Names of a file's own (static, in a namespace without name) must be no other's of its floor.
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT BRIGHTNET_SANITIZE)
  set(common_headers_default ON)
else()
  set(common_headers_default OFF)
endif()
option(BRIGHTNET_COMMON_HEADERS "compile the headers that most files include once" ${common_headers_default})
option(BRIGHTNET_UNITY_BUILD "compile eight files as one" ${common_headers_default})

set(common_headers algorithm array chrono cmath condition_variable cstdint filesystem fstream functional iostream map memory
  mutex optional set span sstream stop_token string string_view thread unordered_map variant vector fmt/format.h fmt/ranges.h
  nlohmann/json.hpp opencv2/core.hpp)
list(TRANSFORM common_headers REPLACE "(.+)" "<\\1>")

# Compiles a target with the common headers of the product, with those of what is cold in it, of the tests, or of tests that
# compute much themselves.
# Headers are shared by files of one level of optimization: since GCC 13 each level has options that must be the same.
function(brightnet_common_headers target kind)
  if(NOT BRIGHTNET_COMMON_HEADERS)
    return()
  endif()
  if(NOT TARGET brightnet_headers_of_${kind})
    set(source ${CMAKE_BINARY_DIR}/headers_of_${kind}.cpp)
    file(WRITE ${source} "")
    add_library(brightnet_headers_of_${kind} OBJECT ${source})
    target_link_libraries(brightnet_headers_of_${kind} PRIVATE brightnet_flags fmt::fmt nlohmann_json::nlohmann_json opencv_core)
    set(headers ${common_headers})
    if(kind MATCHES tests)
      target_link_libraries(brightnet_headers_of_${kind} PRIVATE GTest::gtest)
      list(APPEND headers <gtest/gtest.h>)
    endif()
    if(kind STREQUAL tests)
      target_compile_options(brightnet_headers_of_${kind} PRIVATE $<$<CONFIG:Release>:-O0>)
    elseif(NOT kind STREQUAL product)
      target_compile_options(brightnet_headers_of_${kind} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    target_precompile_headers(brightnet_headers_of_${kind} PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE -fPIC)  # CMake compiles programs with -fPIE, with which no library shares headers
  target_precompile_headers(${target} REUSE_FROM brightnet_headers_of_${kind})
endfunction()

# Sets `result` to files of the build folder that include the given CUDA sources, nine each: nvcc spends most of its time on
# headers, and CMake's own unity builds know CUDA from 3.31 on. A kernel's code does not depend on its neighbours.
function(brightnet_unity_kernels result)
  set(files ${ARGN})
  list(LENGTH ARGN count)
  if(BRIGHTNET_UNITY_BUILD AND count)
    set(files)
    math(EXPR last "${count} - 1")
    foreach(first RANGE 0 ${last} 9)
      list(SUBLIST ARGN ${first} 9 batch)
      list(TRANSFORM batch REPLACE "${CMAKE_SOURCE_DIR}/(.+)" "#include \"\\1\"\n")
      list(JOIN batch "" batch)
      set(file ${CMAKE_BINARY_DIR}/unity_kernels/from_${first}.cu)
      file(CONFIGURE OUTPUT ${file} CONTENT "${batch}" @ONLY)  # written only where it changes
      list(APPEND files ${file})
    endforeach()
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# The CPU's kernels are not compiled so: what the compiler inlines decides how it rounds.
function(brightnet_unity_build target)
  cmake_parse_arguments(ARG "" "FILES" "" ${ARGN})
  if(NOT ARG_FILES)
    set(ARG_FILES 8)
  endif()
  if(BRIGHTNET_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ARG_FILES})
    # The file that the compiler is given is none of them, and it takes their own types for those of a header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
