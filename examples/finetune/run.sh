#!/usr/bin/env bash
# Pre-trains on the Bible, fine-tunes on the fortunes, and shows the validation loss of both models on both texts.
# Needs a build (scripts/build.sh), or dsc and dsrun in the PATH; writes to out/ beside this file.
set -euo pipefail
cd "$(dirname "$0")"
PATH=$PWD/../../build/bin:$PATH
mkdir -p out
[[ -f out/kjv.txt && -f out/fortunes.txt ]] || ./prepare.sh out

echo "== pre-training on the Bible"
dsc pretrain.json -o out/pretrain.bin
dsrun out/pretrain.bin
echo; echo "== fine-tuning on fortunes, embeddings frozen"
dsc finetune.json -o out/finetune.bin
dsrun out/finetune.bin

# Each plan has its own validation data; weights go with both.
loss() { dsrun "$1" --evaluate --weights="$2" | sed -n 's/^loss \([0-9.]*\).*/\1/p'; }
echo; echo "== validation loss, nats a byte"
printf '%-20s%10s%10s\n' "" Bible fortunes
for model in pretrained tuned; do
  printf '%-20s%10.4f%10.4f\n' "$model" "$(loss out/pretrain.bin out/$model/final)" "$(loss out/finetune.bin out/$model/final)"
done
for model in pretrained tuned; do
  echo; echo "== $model"
  dsrun out/finetune.bin --weights=out/$model/final --generate="The " --generate="And " --generate="A man " \
    --max-new-tokens=150 --temperature=0.8 --top-p=0.95 --seed=2 2>/dev/null
done
