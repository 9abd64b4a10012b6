#!/usr/bin/env bash
# All tests that need Debian packages only: installs, builds, runs lit. Ends with a line "N passed, M failed".
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-dependencies.sh
scripts/build.sh

status=0
/usr/lib/llvm-22/bin/lit -sv --xunit-xml-output=build/test/results.xml build/test build/test/Unit build/test/examples "$@" || status=$?
python3 scripts/closing-line.py build/test/results.xml || status=1
exit "$status"
