#!/usr/bin/env bash
# Builds every fuzz target with sanitizers and runs each for SECONDS (default 600), one after another.
# run.sh [SECONDS] [NAME...]; found inputs are left in build-fuzz/found/. Ends with the first crash.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
names=("${@:2}")
build=build-fuzz
cmake -G Ninja -S . -B $build -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22 \
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DDSC_BUILD_FUZZERS=ON -DDSC_SANITIZE=ON >/dev/null
((${#names[@]})) || names=($(cd test/Fuzz && ls -d */CMakeLists.txt | cut -d/ -f1))
ninja -C $build "${names[@]/#/fuzz-}" make-test-plan
python3 test/Fuzz/seeds.py $build/corpus
mkdir -p $build/found $build/corpus/plan
for variant in small shares stages; do
  mkdir -p $build/corpus/plan/$variant
  $build/bin/make-test-plan $build/corpus/plan/$variant 1 $variant # beside the plan an .npy file, a seed of another kind
done
for name in "${names[@]}"; do
  mkdir -p $build/corpus/"$name"
  $build/test/Fuzz/fuzz-"$name" -max_total_time="$seconds" -max_len=16384 -print_final_stats=1 \
    -artifact_prefix=$build/found/"$name"- $build/corpus/"$name" >$build/found/"$name".log 2>&1 ||
    { tail -40 $build/found/"$name".log; echo "fuzz-$name failed: input in $build/found/"; exit 1; }
  echo "fuzz-$name: $(grep -o 'Done [0-9]* runs in [0-9]* second' $build/found/"$name".log)s, no crash"
done
