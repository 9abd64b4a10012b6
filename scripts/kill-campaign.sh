#!/usr/bin/env bash
# Kills a run at random moments and checks that it goes on to the same bits: --minutes=N [--kills=K] [--seed=S] [--train=JSON].
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[[ -x $root/build/bin/dsrun ]] && PATH=$root/build/bin:$PATH
exec python3 "$root/scripts/kill_campaign.py" "$@"
