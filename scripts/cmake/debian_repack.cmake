# CPack runs this when it has packed. Its packages depend on the umask, and it gives the library's one scripts that call
# ldconfig, where Debian's packages ask for that by a trigger and have no scripts that could fail. dpkg-deb packs them again.
foreach(package ${CPACK_PACKAGE_FILES})
  set(tree ${CPACK_TEMPORARY_DIRECTORY}/repacked)
  execute_process(COMMAND sh -ec "
    umask 022
    dpkg-deb --raw-extract '${package}' '${tree}'
    if [ -e '${tree}/DEBIAN/postinst' ]; then
      rm '${tree}/DEBIAN/postinst' '${tree}/DEBIAN/postrm'
      echo activate-noawait ldconfig >'${tree}/DEBIAN/triggers'
    fi
    chmod 644 '${package}'
    dpkg-deb --root-owner-group --build '${tree}' '${package}'
    rm -r '${tree}'" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
