#!/usr/bin/env bash
# The main job, from a bare Debian 12: compiles examples/kjv-bytes/model.json to a plan, trains on the King James Bible,
# generates text. Everything it writes is under examples/kjv-bytes/out/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-dependencies.sh
echo "building (a few minutes the first time)"
scripts/build.sh

example=examples/kjv-bytes
out=$example/out
bin=build/bin
[[ -f $out/kjv.txt ]] || $example/prepare.sh $out/kjv.txt

echo; echo "== dsc $example/model.json -o $out/plan.bin"
$bin/dsc $example/model.json --print-config
$bin/dsc $example/model.json -o $out/plan.bin --dump-dir=$out/ir

echo; echo "== dsrun $out/plan.bin"
$bin/dsrun $out/plan.bin

echo; echo "== dsrun $out/plan.bin --generate='In the beginning'"
$bin/dsrun $out/plan.bin --generate="In the beginning" --max-new-tokens=400 --temperature=0.7 --seed=1 | tee $out/generated.txt
python3 $example/words.py $out/kjv.txt $out/generated.txt 75

python3 - $out/log/log.jsonl <<'PY'
import json, sys
last = [line for line in map(json.loads, open(sys.argv[1])) if line.get("eval_loss") is not None][-1]
print(f"loss over the last 5 % of the text: {last['eval_loss']:.4f} nats a byte (gzip -9 of the text: 1.64)")
sys.exit(last["eval_loss"] >= 1.50)
PY
$bin/dsc-report $out/log -o $out/run.html >/dev/null
cat <<TEXT
files:
  log of every step    $out/log/log.jsonl
  curves of the run    $out/run.html
  weights              $out/checkpoints/final/ (a Hugging Face folder)
  IR after every pass  $out/ir/index.html
  plan                 $out/plan.bin
TEXT
