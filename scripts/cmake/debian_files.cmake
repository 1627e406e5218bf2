# CPack runs this before it packs. It gives each package what Debian asks of every one (copyright, changelog), compresses
# what Debian has compressed, and dates every file by the release, so that two builds are the same bytes.
file(STRINGS ${CPACK_BRIGHTNET_SOURCE}/CHANGELOG.md releases REGEX "^## \\[[0-9.]+\\] - [0-9-]+$")
list(GET releases 0 newest)
if(NOT newest MATCHES "^## \\[${CPACK_PACKAGE_VERSION}\\] - ([0-9-]+)$")
  message(FATAL_ERROR "CHANGELOG.md: its newest release is '${newest}', and CMakeLists.txt says ${CPACK_PACKAGE_VERSION}")
endif()
set(date ${CMAKE_MATCH_1}T00:00Z)
execute_process(COMMAND date --utc --rfc-email --date ${date} OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND date +%s --date ${date} OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{SOURCE_DATE_EPOCH} ${epoch})  # of what CPack itself writes

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: brightnet

Files: *
Copyright: The brightnet authors
License: Apache-2.0
 On Debian systems, the full text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
set(changelog "brightnet (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} key)
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(folder ${share}/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  file(WRITE ${folder}/copyright "${copyright}")
  file(WRITE ${folder}/changelog.Debian "${changelog}")
  configure_file(${CPACK_BRIGHTNET_SOURCE}/CHANGELOG.md ${folder}/changelog COPYONLY)
  file(GLOB pages ${share}/man/man1/*.1)
  execute_process(COMMAND gzip --best --no-name ${folder}/changelog.Debian ${folder}/changelog ${pages}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component} -exec
    touch --no-dereference --date ${date} {} + COMMAND_ERROR_IS_FATAL ANY)
endforeach()
