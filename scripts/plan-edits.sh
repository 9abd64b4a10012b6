#!/usr/bin/env bash
# Edits of good plans against the verifier: plan-edits.sh [COUNT] [SEED] (500, 1). What is drawn and judged, and how: test/Layouts/plan_edits.py.
# Needs a build in build/; results in build/plan-edits/results.jsonl. Exit 1 if a bad plan passes.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/plan-edits/kernels
export PATH="$PWD/build/bin:$PATH" DSC_KERNEL_CACHE="$PWD/build/plan-edits/kernels"
exec python3 test/Layouts/plan_edits.py --work=build/plan-edits --count="${1:-500}" --seed="${2:-1}"
