#!/usr/bin/env bash
# Installs every Debian package that building, testing and running needs. Idempotent; as root; apt only.
set -euo pipefail

packages=(
  cmake ninja-build                    # build system
  clang-22 lld-22 libclang-rt-22-dev   # compiler, linker; run-time library of sanitizers and libFuzzer
  libmlir-22-dev mlir-22-tools         # the IR, passes
  llvm-22-dev llvm-22-tools            # code generation; lit and FileCheck
  liblld-22-dev                        # links kernels inside dsc
  zlib1g-dev libzstd-dev               # what LLVM's and lld's libraries need at link time
  nlohmann-json3-dev                   # specs, manifests
  libflatbuffers-dev flatbuffers-compiler  # the programs of a plan
  libxxhash-dev                        # checksums of files and tensors
  libcli11-dev                         # command lines of the tools without LLVM
  openmpi-bin libopenmpi-dev           # ranks as processes, of one machine or many; optional
  libgtest-dev                         # unit tests
  python3                              # lit, and scripts that replay the data order
  strace                               # tests end a save at each of its system calls
  bible-kjv                            # text of the example
  fortunes                             # texts that the fine-tuning example goes on to
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
echo "all ${#packages[@]} Debian packages are there"
