# Debian packages by CPack, from the parts that are installed: `scripts/package deb` configures and builds for them.
#
#   brightnet        the program, whole in one file: the engine is built in, so that `apt install ./brightnet_*.deb` needs no
#                    other file of ours; models, completions, man page
#   libbrightnet0.1  the shared library, named by its SONAME, so that 0.2 may stand beside it
#   libbrightnet-dev headers, CMake package, pkg-config file

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")  # as Debian's own tools have it
if("$ENV{DEBEMAIL}" STREQUAL "")
  set(CPACK_PACKAGE_CONTACT "The brightnet authors <maintainers@brightnet.invalid>")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/cmake/debian_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/cmake/debian_repack.cmake)
set(CPACK_BRIGHTNET_SOURCE ${CMAKE_SOURCE_DIR})  # for these scripts

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE brightnet)
set(CPACK_DEBIAN_COMPRESSION_TYPE none)  # until they are packed again
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME brightnet)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "ca-certificates, fonts-dejavu-core, openmpi-bin")  # download, pictures, --ranks
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS fonts-droid-fallback)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "trainer for YOLOv4 object detectors
brightnet trains YOLOv4 and tiny-YOLOv4 object detectors on your own images,
evaluates them, and detects objects in images, videos and camera streams.
It reads the data sets of Ultralytics, darknet, COCO and Pascal VOC as they
are, starts from darknet's pretrained weights where asked to, and exports to
ONNX and darknet.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libbrightnet${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS brightnet)  # the models that go by their names
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "trainer for YOLOv4 object detectors - shared library
brightnet trains YOLOv4 and tiny-YOLOv4 object detectors and detects objects
with them. This is the library by which C++ programs do what the program
brightnet does.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbrightnet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libbrightnet${soversion} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "trainer for YOLOv4 object detectors - development files
brightnet trains YOLOv4 and tiny-YOLOv4 object detectors and detects objects
with them. These are the headers of its library, a CMake package and a
pkg-config file.")
include(CPack)
