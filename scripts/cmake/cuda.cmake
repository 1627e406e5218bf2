# Finds everything that the CUDA backend is compiled with: nvcc, the headers of cuDNN 9, NCCL and cudnn-frontend. It looks in
# .cuda (where `scripts/setup --cuda` installs its wheels), $CUDAToolkit_ROOT, $CUDA_HOME, $CUDA_PATH, $PATH and
# /usr/local/cuda. If all of it is found, the target brightnet_cuda contains the backend; one line reports what was
# found or what is missing. cuDNN and NCCL are not linked: the program loads them when it needs them (kernels/cuda/libraries.h).
#
# Sets BRIGHTNET_CUDA_FOUND, BRIGHTNET_CUDA_INCLUDES (CUDA's headers; set even if nvcc is missing),
# BRIGHTNET_CUDA_ABSENCE (why the backend is not built) and BRIGHTNET_CUDA_LIBRARY_FOLDERS (where to load from).

option(BRIGHTNET_CUDA "build the CUDA backend where CUDA is found" ON)
set(BRIGHTNET_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING
  "compute capabilities that the build contains code for; PTX of the last one is added for newer GPUs")
option(BRIGHTNET_CUDA_TRAVELS
  "for other machines: CUDA's libraries are not looked for in this one's folders, and no path of it is in the code" OFF)
set(cuda_minimum 13.0)

set(cuda_wheels ${CMAKE_SOURCE_DIR}/.cuda)
set(cuda_hints ${cuda_wheels}/nvidia/cu13 ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
# The search is repeated at each configuration: the user may have installed or removed some of it since.
foreach(variable NVCC CUDART_INCLUDE CUDNN_INCLUDE NCCL_INCLUDE CUDNN_FRONTEND_INCLUDE)
  unset(BRIGHTNET_${variable} CACHE)
endforeach()
if(DEFINED ENV{CUDACXX})
  set(BRIGHTNET_NVCC $ENV{CUDACXX} CACHE FILEPATH "the CUDA compiler")
endif()
find_program(BRIGHTNET_NVCC nvcc HINTS ${cuda_hints} PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(BRIGHTNET_NVCC)
  get_filename_component(cuda_root ${BRIGHTNET_NVCC} REALPATH)
  get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
  list(PREPEND cuda_hints ${cuda_root})
endif()
find_path(BRIGHTNET_CUDART_INCLUDE cuda_runtime.h HINTS ${cuda_hints} PATHS /usr/local/cuda PATH_SUFFIXES include)
find_path(BRIGHTNET_CUDNN_INCLUDE cudnn_version.h HINTS ${cuda_wheels}/nvidia/cudnn ${cuda_hints} PATHS /usr/local/cuda
  PATH_SUFFIXES include)
find_path(BRIGHTNET_NCCL_INCLUDE nccl.h HINTS ${cuda_wheels}/nvidia/nccl ${cuda_hints} PATHS /usr/local/cuda
  PATH_SUFFIXES include)
find_path(BRIGHTNET_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${cuda_wheels} ${cuda_hints} PATHS /usr/local/cuda
  PATH_SUFFIXES include)
mark_as_advanced(BRIGHTNET_NVCC BRIGHTNET_CUDART_INCLUDE BRIGHTNET_CUDNN_INCLUDE BRIGHTNET_NCCL_INCLUDE
  BRIGHTNET_CUDNN_FRONTEND_INCLUDE)

# Reads a version such as "9.1.0" from lines such as "#define CUDNN_MAJOR 9".
function(brightnet_header_version result header prefix)
  set(version)
  foreach(part ${ARGN})
    file(STRINGS ${header} line REGEX "^#define ${prefix}_${part} +[0-9]+")
    if(line)
      string(REGEX REPLACE ".* ([0-9]+).*" "\\1" number "${line}")
      list(APPEND version ${number})
    endif()
  endforeach()
  string(REPLACE ";" "." version "${version}")
  set(${result} ${version} PARENT_SCOPE)
endfunction()

set(cuda_found)
set(cuda_missing)
if(BRIGHTNET_NVCC)
  execute_process(COMMAND ${BRIGHTNET_NVCC} --version OUTPUT_VARIABLE cuda_text ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" cuda_text "${cuda_text}")
  set(cuda_version ${CMAKE_MATCH_1})
  if("${cuda_version}" VERSION_LESS ${cuda_minimum})
    list(APPEND cuda_missing "nvcc ${cuda_minimum} or newer; ${BRIGHTNET_NVCC} is '${cuda_version}'")
  else()
    list(APPEND cuda_found "nvcc ${cuda_version}")
  endif()
else()
  list(APPEND cuda_missing nvcc)
endif()
if(NOT BRIGHTNET_CUDART_INCLUDE)
  list(APPEND cuda_missing "the CUDA runtime's headers")
endif()
if(BRIGHTNET_CUDNN_INCLUDE)
  brightnet_header_version(cuda_text ${BRIGHTNET_CUDNN_INCLUDE}/cudnn_version.h CUDNN MAJOR MINOR PATCHLEVEL)
  list(APPEND cuda_found "cuDNN ${cuda_text}")
else()
  list(APPEND cuda_missing cuDNN)
endif()
if(BRIGHTNET_NCCL_INCLUDE)
  brightnet_header_version(cuda_text ${BRIGHTNET_NCCL_INCLUDE}/nccl.h NCCL MAJOR MINOR PATCH)
  list(APPEND cuda_found "NCCL ${cuda_text}")
else()
  list(APPEND cuda_missing NCCL)
endif()
if(BRIGHTNET_CUDNN_FRONTEND_INCLUDE)
  brightnet_header_version(cuda_text ${BRIGHTNET_CUDNN_FRONTEND_INCLUDE}/cudnn_frontend_version.h CUDNN_FRONTEND
    MAJOR_VERSION MINOR_VERSION PATCH_VERSION)
  list(APPEND cuda_found "cudnn-frontend ${cuda_text}")
else()
  list(APPEND cuda_missing cudnn-frontend)
endif()

set(BRIGHTNET_CUDA_FOUND FALSE)
set(BRIGHTNET_CUDA_ABSENCE)
list(JOIN cuda_found ", " cuda_found)
list(JOIN cuda_missing ", " cuda_missing)
if(NOT BRIGHTNET_CUDA)
  set(BRIGHTNET_CUDA_ABSENCE "it was configured with BRIGHTNET_CUDA=OFF")
  message(STATUS "CUDA: switched off (BRIGHTNET_CUDA=OFF): CPU build")
elseif(cuda_missing AND BRIGHTNET_CUDA_TRAVELS)
  message(FATAL_ERROR "CUDA was asked for, and there is no ${cuda_missing}; scripts/setup --cuda installs all of it")
elseif(cuda_missing)
  set(BRIGHTNET_CUDA_ABSENCE "missing when it was configured: ${cuda_missing}")
  message(STATUS "CUDA: not found (missing: ${cuda_missing}; scripts/setup --cuda installs all of it): CPU build")
elseif(NOT BRIGHTNET_CUDA_ARCHITECTURES)
  message(FATAL_ERROR "BRIGHTNET_CUDA_ARCHITECTURES is empty and must be a list of compute capabilities, such as 80;90")
else()
  list(JOIN BRIGHTNET_CUDA_ARCHITECTURES " " cuda_text)
  set(BRIGHTNET_CUDA_FOUND TRUE)
  message(STATUS "CUDA: found ${cuda_found}; compiling for compute capabilities ${cuda_text}")
endif()

set(BRIGHTNET_CUDA_INCLUDES)
foreach(folder ${BRIGHTNET_CUDART_INCLUDE} ${BRIGHTNET_CUDNN_INCLUDE} ${BRIGHTNET_NCCL_INCLUDE}
    ${BRIGHTNET_CUDNN_FRONTEND_INCLUDE})
  if(folder)
    list(APPEND BRIGHTNET_CUDA_INCLUDES ${folder})
  endif()
endforeach()
list(REMOVE_DUPLICATES BRIGHTNET_CUDA_INCLUDES)

# Folders of the libraries that belong to those headers, tried if the system's own search finds none.
set(BRIGHTNET_CUDA_LIBRARY_FOLDERS)
foreach(folder ${BRIGHTNET_CUDNN_INCLUDE} ${BRIGHTNET_NCCL_INCLUDE} ${BRIGHTNET_CUDART_INCLUDE})
  foreach(name lib lib64)
    if(NOT BRIGHTNET_CUDA_TRAVELS AND EXISTS ${folder}/../${name})
      get_filename_component(library_folder ${folder}/../${name} REALPATH)
      list(APPEND BRIGHTNET_CUDA_LIBRARY_FOLDERS ${library_folder})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES BRIGHTNET_CUDA_LIBRARY_FOLDERS)

if(BRIGHTNET_CUDA_FOUND)
  # Machine code for each, and PTX of the newest for later GPUs.
  set(cuda_codes ${BRIGHTNET_CUDA_ARCHITECTURES})
  list(SORT cuda_codes COMPARE NATURAL)
  list(POP_BACK cuda_codes cuda_newest)
  list(TRANSFORM cuda_codes APPEND -real)
  set(CMAKE_CUDA_ARCHITECTURES ${cuda_codes} ${cuda_newest})
  set(CMAKE_CUDA_COMPILER ${BRIGHTNET_NVCC})
  # Static, so that the program starts without CUDA's libraries; the runtime itself loads the driver.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know nvcc's option for C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
endif()

# Definitions for the sources that include cudnn-frontend.
set(BRIGHTNET_CUDNN_DEFINITIONS NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB)

# The library brightnet_cuda: the backend if CUDA was found, else a stub that reports why there is none. `link` lists
# the libraries that it depends on.
function(brightnet_add_cuda link)
  if(BRIGHTNET_CUDA_FOUND)
    file(GLOB sources CONFIGURE_DEPENDS kernels/cuda/*.cpp)
    list(FILTER sources EXCLUDE REGEX "kernels/cuda/absent.cpp")
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
    brightnet_unity_kernels(kernels ${kernels})
    list(APPEND sources ${kernels})
  else()
    set(sources kernels/cuda/absent.cpp kernels/cuda/installation.cpp kernels/cuda/timed_choice.cpp
      kernels/cuda/tune_cache.cpp)
  endif()
  add_library(brightnet_cuda STATIC ${sources})
  target_link_libraries(brightnet_cuda PUBLIC brightnet_flags ${link} PRIVATE ${CMAKE_DL_LIBS})
  list(JOIN BRIGHTNET_CUDA_ARCHITECTURES "," architectures)
  list(JOIN BRIGHTNET_CUDA_LIBRARY_FOLDERS ":" folders)
  file(GLOB cudnn_users CONFIGURE_DEPENDS kernels/cuda/convolution*.cpp)
  # -O1: cudnn-frontend is a header of templates that build plans, once a run.
  set_source_files_properties(${cudnn_users} PROPERTIES COMPILE_DEFINITIONS "${BRIGHTNET_CUDNN_DEFINITIONS}"
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(brightnet_cuda PRIVATE BRIGHTNET_CUDA_ARCHITECTURES="${architectures}"
    BRIGHTNET_CUDA_LIBRARY_FOLDERS="${folders}" BRIGHTNET_CUDA_ABSENCE="${BRIGHTNET_CUDA_ABSENCE}")
  if(BRIGHTNET_CUDA_FOUND)
    target_include_directories(brightnet_cuda SYSTEM PRIVATE ${BRIGHTNET_CUDA_INCLUDES})
    set(cuda_flags --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra)
    if(NOT BRIGHTNET_CUDA_TRAVELS)
      list(APPEND cuda_flags -lineinfo)  # what profilers and sanitizers show: the sources by their paths
    endif()
    if(BRIGHTNET_WERROR)
      list(APPEND cuda_flags --Werror=all-warnings)
    endif()
    target_compile_options(brightnet_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
  endif()
endfunction()
