# How libraries, tools and unit tests of this project are declared.
#
# Sources are globbed: adding a pass, an op family or a test is adding a file.
# Libraries that see MLIR share one precompiled header; the others never include LLVM.

set(DSC_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND DSC_WARNINGS -Wshadow-uncaptured-local)
endif()

function(dsc_common_options target)
  target_compile_options(${target} PRIVATE ${DSC_WARNINGS})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  if(DSC_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(DSC_BUILD_FUZZERS) # coverage for libFuzzer in every library
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Target whose only product is a precompiled header; dsc_use_pch takes it. Four of them hold most of what a build
# would otherwise parse two hundred times: with MLIR or without, for libraries and programs or for tests.
function(dsc_add_pch name)
  cmake_parse_arguments(ARG "MLIR;TEST" "" "HEADERS" ${ARGN})
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  if(ARG_MLIR)
    dsc_mlir_options(${name})
  endif()
  dsc_common_options(${name})
  dsc_pch_options(${name} ${ARG_TEST})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  endif()
  if(ARG_TEST)
    target_link_libraries(${name} PRIVATE GTest::gtest)
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# What every user of one precompiled header must agree on. Tests are built without optimisation: half of a full build
# would be spent on code that runs once; what they test is built as it is shipped.
function(dsc_pch_options target test)
  target_compile_options(${target} PRIVATE -fPIC) # programs too: the header is shared with libraries
  if(test)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Lets a target use the precompiled header of its kind.
function(dsc_use_pch target mlir test)
  dsc_pch_options(${target} ${test})
  if(mlir)
    dsc_mlir_options(${target})
    set(kind Mlir)
  endif()
  if(test)
    string(APPEND kind Test)
  endif()
  if(NOT kind)
    set(kind Std)
  endif()
  target_precompile_headers(${target} REUSE_FROM DSC${kind}Pch)
endfunction()

function(dsc_mlir_options target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS_LIST})
endfunction()

# dsc_add_library(Name [MLIR] [TEST] [FOLDERS folder...] [DEPENDS target...] [LINK library...]): all *.cpp below the
# current folder, or below the named folders of it. TEST: only tests use it.
function(dsc_add_library name)
  cmake_parse_arguments(ARG "MLIR;TEST" "" "FOLDERS;DEPENDS;LINK" ${ARGN})
  set(patterns *.cpp)
  if(ARG_FOLDERS)
    list(TRANSFORM ARG_FOLDERS APPEND /*.cpp OUTPUT_VARIABLE patterns)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  add_library(${name} STATIC ${sources})
  dsc_common_options(${name})
  dsc_use_pch(${name} ${ARG_MLIR} ${ARG_TEST})
  # Several files a compilation: the templates of JSON and of the standard library are instantiated once for them, not once
  # each. Not where MLIR is seen: an edit to one pass is to rebuild that pass alone.
  if(NOT ARG_MLIR)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC MLIR LLVM)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# dsc_add_tool(name [MLIR] [LINK library...]): a program in bin/, installed.
function(dsc_add_tool name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  add_executable(${name} ${sources})
  dsc_common_options(${name})
  target_compile_definitions(${name} PRIVATE DSC_VERSION="${PROJECT_VERSION}")
  if(ARG_MLIR)
    dsc_use_pch(${name} TRUE FALSE)
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  else()
    # A command line, read once: optimising the templates of CLI11 would take longer than compiling a pass.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  set_property(GLOBAL APPEND PROPERTY DSC_TOOL_TARGETS ${name})
endfunction()

# dsc_add_unit_test(Name [MLIR] [LINK library...]): GoogleTest program of all *.cpp in the current folder,
# found by lit through test/Unit/lit.cfg.py.
function(dsc_add_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  add_executable(${name} ${sources})
  dsc_common_options(${name})
  # lit takes the programs whose name ends in Tests.
  string(REGEX REPLACE "Tests?$" "" program ${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${program}Tests
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/Unit)
  dsc_use_pch(${name} ${ARG_MLIR} TRUE)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY DSC_TEST_TARGETS ${name})
endfunction()

# dsc_add_fuzzer(name [LINK library...]): libFuzzer program of all *.cpp in the current folder, in test/Fuzz/ of the
# build. Configure with -DDSC_BUILD_FUZZERS=ON -DDSC_SANITIZE=ON and clang.
function(dsc_add_fuzzer name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  add_executable(${name} ${sources})
  dsc_common_options(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/Fuzz)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()
