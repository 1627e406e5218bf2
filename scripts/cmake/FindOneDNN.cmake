# Finds oneDNN by its header and library and defines DNNL::dnnl and OneDNN_VERSION. The package's own
# dnnl-config.cmake is not used: those of Debian and Ubuntu require OpenCL's development files, which the
# CPU part does not need and libdnnl-dev does not depend on.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_INCLUDE_DIR)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*" "\\1." OneDNN_VERSION "${lines}")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" OneDNN_VERSION "${OneDNN_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION
  REASON_FAILURE_MESSAGE "Install libdnnl-dev, or give the folder of another oneDNN with -DCMAKE_PREFIX_PATH=FOLDER")

if(OneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
