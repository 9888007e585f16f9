# What `cmake --install` and cpack add to the programs, and the packages: .deb and .tar.gz.
#
# LibTorch is in neither: lib/onnx-export, --torch, ONNX_EXPORT_TORCH or an active environment have it.

# The manual page and the completions are what the program prints.
install(CODE "
set(made [[${CMAKE_BINARY_DIR}/share]])
foreach(page
    man/man1/onnx-export.1=man
    bash-completion/completions/onnx-export=completion,bash
    zsh/site-functions/_onnx-export=completion,zsh
    fish/vendor_completions.d/onnx-export.fish=completion,fish)
  string(REPLACE \"=\" \";\" page \"\${page}\")
  list(POP_FRONT page file)
  string(REPLACE \",\" \";\" words \"\${page}\")
  get_filename_component(folder \"\${file}\" DIRECTORY)
  file(MAKE_DIRECTORY \"\${made}/\${folder}\")
  execute_process(COMMAND \"$<TARGET_FILE:onnx-export>\" \${words}
    OUTPUT_FILE \"\${made}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/\${folder}\" TYPE FILE FILES \"\${made}/\${file}\")
endforeach()
" COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/onnx-export RENAME copyright COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/onnx-export
  COMPONENT runtime)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME onnx-export)
set(CPACK_PACKAGE_VENDOR onnx-export)
set(CPACK_PACKAGE_CONTACT "The onnx-export maintainers <maintainers@onnx-export.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Converts TorchScript files (.pt) into ONNX files")
set(CPACK_PACKAGE_FILE_NAME onnx-export-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Written out: dpkg-shlibdeps stops at LibTorch, which no Debian package has.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34), libstdc++6 (>= 11), libgcc-s1, zlib1g (>= 1:1.2.9)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pip, python3-venv")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"The file computes the same numbers, for every size that its dynamic axes allow.

LibTorch ${LibTorch_VERSION} is needed and is not in the package. The torch wheel has it:
 pip install --target /usr/lib/onnx-export torch==${LibTorch_VERSION}.* onnxruntime")
include(CPack)
