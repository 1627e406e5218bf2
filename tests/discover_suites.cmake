# Run after a test program is linked: writes OUTPUT, in which each suite of PROGRAM is one of ctest's tests.
#   cmake -D PROGRAM=… -D OUTPUT=… -D PREFIX=… -D FILTER=… -D "PROPERTIES=NAME VALUE …" -P discover_suites.cmake
# A process costs up to 0.2 s before main() where OpenCV brings GDAL and two hundred other libraries: a process for each
# of three thousand cases took ten minutes of a core.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${FILTER}
  OUTPUT_VARIABLE listed RESULT_VARIABLE failed TIMEOUT 60)
if(failed)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${failed}\n${listed}")
endif()

string(REGEX REPLACE " *#[^\n]*" "" listed "${listed}")  # types and parameters: a '[' in them would join lines
string(REPLACE ";" "\\;" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(suites)
foreach(line IN LISTS lines)
  if(line MATCHES "^  (.+)$")
    list(APPEND cases_of_${suite} "${suite}${CMAKE_MATCH_1}")
  elseif(line MATCHES "^([^ ]+\\.)$")
    set(suite ${line})
    list(APPEND suites ${suite})
  endif()
endforeach()

set(written)
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "\\.$" "" name "${suite}")
  list(JOIN cases_of_${suite} ":" chosen)  # of a suite that FILTER does not take whole
  if(FILTER MATCHES "^-?Slow|^\\*$")
    set(chosen "${suite}*")
  endif()
  string(APPEND written "add_test([=[${PREFIX}${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${chosen}]=])\n"
    "set_tests_properties([=[${PREFIX}${name}]=] PROPERTIES ${PROPERTIES})\n")
endforeach()
file(WRITE ${OUTPUT} "${written}")
