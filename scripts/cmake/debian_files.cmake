# CPack runs this before it packs. It gives each package what Debian asks of every one (copyright, changelog), compresses
# what Debian has compressed, and dates every file by the release, so that two builds are the same bytes.

function(date_as result format date)
  execute_process(COMMAND date --utc --date ${date}T00:00Z ${format} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${text} PARENT_SCOPE)
endfunction()

# CHANGELOG.md as Debian has it.
set(changelog)
set(end_of_release)
set(newest)
file(STRINGS ${CPACK_BRIGHTNET_SOURCE}/CHANGELOG.md lines)
foreach(line IN LISTS lines)
  if(line MATCHES "^## \\[([0-9.]+)\\] - ([0-9-]+)$")
    string(APPEND changelog "${end_of_release}${CPACK_DEBIAN_PACKAGE_SOURCE} (${CMAKE_MATCH_1}) unstable; urgency=medium\n\n")
    if(NOT newest)
      set(newest ${CMAKE_MATCH_1})
      set(date ${CMAKE_MATCH_2})
    endif()
    date_as(day --rfc-email ${CMAKE_MATCH_2})
    set(end_of_release "\n -- ${CPACK_PACKAGE_CONTACT}  ${day}\n\n")
  elseif(newest AND line MATCHES "^- (.*)")
    string(APPEND changelog "  * ${CMAKE_MATCH_1}\n")
  elseif(newest AND line MATCHES "^  (.*)")
    string(APPEND changelog "    ${CMAKE_MATCH_1}\n")
  endif()
endforeach()
string(APPEND changelog "${end_of_release}")
if(NOT newest STREQUAL CPACK_PACKAGE_VERSION)
  message(FATAL_ERROR "CHANGELOG.md: its newest release is '${newest}', and CMakeLists.txt says ${CPACK_PACKAGE_VERSION}")
endif()
date_as(epoch +%s ${date})
set(ENV{SOURCE_DATE_EPOCH} ${epoch})  # of what CPack itself writes
string(SUBSTRING ${date} 0 4 year)

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} key)
  set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component})
  set(folder ${tree}/usr/share/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  file(WRITE ${folder}/changelog "${changelog}")
  file(WRITE ${folder}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: brightnet

Files: *
Copyright: ${year} The brightnet authors
License: Apache-2.0
 On Debian systems, the full text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  if(EXISTS ${tree}/usr/share/zsh/site-functions)  # which Debian's zsh leaves to the administrator
    file(RENAME ${tree}/usr/share/zsh/site-functions ${tree}/usr/share/zsh/vendor-completions)
  endif()
  file(GLOB pages ${tree}/usr/share/man/man1/*.1)
  execute_process(COMMAND gzip --best --no-name ${folder}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${tree} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${tree} -exec touch --no-dereference --date @${epoch} {} + COMMAND_ERROR_IS_FATAL ANY)
endforeach()
