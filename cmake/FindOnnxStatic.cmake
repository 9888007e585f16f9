# The ONNX library as scripts/setup built it: static, hidden, in a namespace of its own.
#
#   Onnx::onnx   libonnx.a, libonnx_proto.a, static libprotobuf, headers (SYSTEM)

find_path(OnnxStatic_INCLUDE_DIR onnx/onnx_pb.h HINTS ${CMAKE_SOURCE_DIR}/.deps/onnx/include NO_DEFAULT_PATH)
find_library(OnnxStatic_ONNX libonnx.a HINTS ${CMAKE_SOURCE_DIR}/.deps/onnx/lib NO_DEFAULT_PATH)
find_library(OnnxStatic_PROTO libonnx_proto.a HINTS ${CMAKE_SOURCE_DIR}/.deps/onnx/lib NO_DEFAULT_PATH)
find_library(OnnxStatic_PROTOBUF libprotobuf.a)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxStatic REQUIRED_VARS
  OnnxStatic_ONNX OnnxStatic_PROTO OnnxStatic_PROTOBUF OnnxStatic_INCLUDE_DIR)

if(OnnxStatic_FOUND AND NOT TARGET Onnx::onnx)
  add_library(Onnx::onnx INTERFACE IMPORTED)
  target_include_directories(Onnx::onnx SYSTEM INTERFACE ${OnnxStatic_INCLUDE_DIR})
  # The namespace and the flags the library was built with; they have to agree.
  target_compile_definitions(Onnx::onnx INTERFACE
    ONNX_NAMESPACE=onnx_export_onnx ONNX_ML=1 __ONNX_DISABLE_STATIC_REGISTRATION)
  find_package(Threads REQUIRED)
  target_link_libraries(Onnx::onnx INTERFACE
    ${OnnxStatic_ONNX} ${OnnxStatic_PROTO} ${OnnxStatic_PROTOBUF} Threads::Threads)
endif()
