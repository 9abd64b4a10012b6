#!/usr/bin/env bash
# Shows that the numeric tests notice every seeded fault: --minutes=N [--faults=1,2] [--build=DIR] [--page].
# Builds build-mutants/ with -DDSC_FAULTS=ON, then runs scripts/mutants.py, which continues where an earlier call stopped.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-mutants
for argument; do
  [[ $argument == --build=* ]] && build=${argument#--build=}
done
if [[ ! -f $build/build.ninja ]]; then
  cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld >/dev/null
fi
cmake -DDSC_FAULTS=ON "$build" >/dev/null
ninja -C "$build" --quiet all dsc-test-depends
exec python3 "$root/scripts/mutants.py" --build="$build" "$@"
