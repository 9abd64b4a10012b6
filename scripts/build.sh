#!/usr/bin/env bash
# Configures and builds everything into build/ (Release, clang 22, all cores). Safe to call again.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -f build/build.ninja ]]; then
  mkdir -p build
  cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld "$@" >build/configure.log 2>&1 ||
    { cat build/configure.log; exit 1; }
fi
ninja -C build --quiet all dsc-test-depends
