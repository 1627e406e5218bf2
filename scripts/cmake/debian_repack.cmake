# CPack runs this when it has packed. Its packages depend on the umask, count what links point to as installed, and the
# library's one has scripts that call ldconfig, where Debian's packages ask for that by a trigger and have no scripts that
# could fail. So dpkg-deb packs them again.
foreach(package ${CPACK_PACKAGE_FILES})
  set(tree ${CPACK_TEMPORARY_DIRECTORY}/repacked)
  execute_process(COMMAND sh -ec "
    umask 022
    dpkg-deb --raw-extract '${package}' '${tree}'
    if [ -e '${tree}/DEBIAN/postinst' ]; then
      rm '${tree}/DEBIAN/postinst' '${tree}/DEBIAN/postrm'
      echo activate-noawait ldconfig >'${tree}/DEBIAN/triggers'
    fi
    size=\$(find '${tree}/usr' -type f -printf '%s\\n' | awk '{size += 1 + int((\$1 + 1023) / 1024)} END {print size}')
    sed -i \"s/^Installed-Size: .*/Installed-Size: \$size/\" '${tree}/DEBIAN/control'
    chmod 644 '${package}'
    dpkg-deb --root-owner-group --build '${tree}' '${package}'
    rm -r '${tree}'" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
