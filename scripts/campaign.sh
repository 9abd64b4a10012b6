#!/usr/bin/env bash
# Layouts of many ranks against one device, drawn by seed: --minutes=N [--count=3000] [--seed=7] [--build=DIR]. Continues where an earlier
# call stopped; build/campaign/results.jsonl has a line a layout. First those that together have every pair of values of any
# two factors, then random ones (test/Layouts/layouts.py).
set -euo pipefail
cd "$(dirname "$0")/.."
minutes= count=3000 seed=7 build=build
for argument; do
  case $argument in
    --minutes=*) minutes=${argument#*=} ;;
    --count=*) count=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    --build=*) build=${argument#*=} ;;
    *) echo "campaign.sh: unknown argument $argument" >&2; exit 2 ;;
  esac
done
[[ -n $minutes ]] || { echo "campaign.sh: --minutes=N is missing" >&2; exit 2; }
export PATH=$PWD/$build/bin:$PATH DSC_KERNEL_CACHE=$PWD/$build/campaign/kernels
mkdir -p "$DSC_KERNEL_CACHE"
status=0
timeout "${minutes}m" python3 test/Layouts/layouts.py --work="$build/campaign" --count="$count" --seed="$seed" --pairs --resume || status=$?
# 124: the time is over.
if ((status == 124)); then
  python3 - "$build/campaign/results.jsonl" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
bad = [line for line in lines if line["difference"]]
print(f"{len(lines)} layouts so far, {len(bad)} differ")
sys.exit(bool(bad))
PY
else
  exit "$status"
fi
