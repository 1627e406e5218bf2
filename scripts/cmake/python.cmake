# The Python module: the target brightnet_python, installed by `cmake --install --component python`. It is built where nanobind
# is found: in the environment that scripts/setup makes (.deps/python), or by the Python that builds a wheel.
#
# BRIGHTNET_PYTHON: AUTO (default), ON (an error where something is missing) or OFF. Sets BRIGHTNET_PYTHON_FOUND,
# BRIGHTNET_PYTHON_ABSENCE (why there is no module) and Python_EXECUTABLE.

set(BRIGHTNET_PYTHON AUTO CACHE STRING "the Python module: AUTO, ON or OFF")
string(TOUPPER "${BRIGHTNET_PYTHON}" python_wanted)
if(python_wanted MATCHES "^(ON|YES|TRUE|Y|1)$")
  set(python_wanted ON)
elseif(python_wanted MATCHES "^(OFF|NO|FALSE|N|0)$")
  set(python_wanted OFF)
elseif(NOT python_wanted STREQUAL AUTO)
  message(FATAL_ERROR "BRIGHTNET_PYTHON is '${BRIGHTNET_PYTHON}' and must be AUTO, ON or OFF")
endif()
set(BRIGHTNET_PYTHON_ABSENCE "")
if(python_wanted STREQUAL OFF)
  set(BRIGHTNET_PYTHON_ABSENCE "BRIGHTNET_PYTHON is off")
elseif(BRIGHTNET_SANITIZE)
  set(BRIGHTNET_PYTHON_ABSENCE "Python itself is not built with a sanitizer")
else()
  if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/python/bin/python)
    set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.deps/python/bin/python)
  endif()
  # nanobind takes the stable ABI from Python 3.12 on, and where CMake (3.26) knows Development.SABIModule.
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  if(Python_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir RESULT_VARIABLE failed
      OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(failed)
      set(BRIGHTNET_PYTHON_ABSENCE "there is no nanobind in ${Python_EXECUTABLE}; scripts/setup installs it")
    else()
      find_package(nanobind CONFIG REQUIRED)
    endif()
  else()
    set(BRIGHTNET_PYTHON_ABSENCE "there are no headers of Python 3.10 or newer; scripts/setup installs them")
  endif()
endif()

if(BRIGHTNET_PYTHON_ABSENCE)
  if(python_wanted STREQUAL ON)
    message(FATAL_ERROR "The Python module was asked for, and ${BRIGHTNET_PYTHON_ABSENCE}")
  endif()
  message(STATUS "Python: no module (${BRIGHTNET_PYTHON_ABSENCE})")
  return()
endif()
set(BRIGHTNET_PYTHON_FOUND TRUE)
message(STATUS "Python: module for ${Python_VERSION}")
