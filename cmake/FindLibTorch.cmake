# LibTorch for linking, without find_package(Torch), which stops where no CUDA toolkit is installed.
# Looked for in LIBTORCH_ROOT (variable or environment), in the environment made by scripts/setup,
# in the Python package's folder (found without importing it), and in the system's folders.
#
#   LibTorch::torch    c10 and torch_cpu with their headers (SYSTEM)
#   LibTorch_VERSION   such as 2.13

set(_hints ${LIBTORCH_ROOT} $ENV{LIBTORCH_ROOT})
set(_elsewhere NO_DEFAULT_PATH)  # a folder that is named and incomplete is an error
if(NOT _hints)
  set(_elsewhere "")
  file(GLOB _hints ${CMAKE_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch)
endif()
if(NOT _hints)
  execute_process(
    COMMAND python3 -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE _python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND _hints ${_python_torch})
endif()

find_path(LibTorch_INCLUDE_DIR torch/csrc/jit/api/module.h HINTS ${_hints} PATH_SUFFIXES include ${_elsewhere})
find_library(LibTorch_C10 c10 HINTS ${_hints} PATH_SUFFIXES lib ${_elsewhere})
find_library(LibTorch_CPU torch_cpu HINTS ${_hints} PATH_SUFFIXES lib ${_elsewhere})

set(LibTorch_VERSION "")
foreach(part MAJOR MINOR)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS ${LibTorch_INCLUDE_DIR}/${header})
      file(STRINGS ${LibTorch_INCLUDE_DIR}/${header} _line REGEX "^#define TORCH_VERSION_${part} ")
      if(_line MATCHES " ([0-9]+)$")
        list(APPEND LibTorch_VERSION ${CMAKE_MATCH_1})
        break()
      endif()
    endif()
  endforeach()
endforeach()
list(JOIN LibTorch_VERSION "." LibTorch_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU LibTorch_C10 LibTorch_INCLUDE_DIR LibTorch_VERSION)

if(LibTorch_FOUND)
  get_filename_component(LibTorch_LIB_DIR ${LibTorch_CPU} DIRECTORY)
endif()
if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  target_include_directories(LibTorch::torch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
    ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::torch INTERFACE ${LibTorch_CPU} ${LibTorch_C10})
  # A build for CUDA needs libraries of other wheels, which may be absent here.
  target_link_options(LibTorch::torch INTERFACE LINKER:--allow-shlib-undefined)
endif()
