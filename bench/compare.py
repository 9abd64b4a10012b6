"""Runs contestants in turns (A B C A B C ...) on one case and prints a table: compare.py CASE [--rounds=3] [CONTESTANT ...].

Contestants: dsc, torch-eager, torch-compiled, torch-eager-tuned, torch-compiled-tuned (glibc's allocator kept from giving memory
back), jax; only if named: dsc-fp16, dsc-bf16 (mixed precision), dsc-data2 (two data-parallel ranks), dsc-selective, dsc-full (recomputation). Figures are over rounds: the median and least of each process's median step; the ratio is tokens/s of dsc over theirs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TUNED = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1"}
CONTESTANTS = {
    "dsc": (["dsc_gpt2.py"], {}),
    "dsc-fp16": (["dsc_gpt2.py", "--set=train.fp16.enabled=true", "--set=train.fp16.initial_scale_power=10"], {}),
    "dsc-bf16": (["dsc_gpt2.py", "--set=train.bf16.enabled=true"], {}),
    "dsc-data2": (["dsc_gpt2.py", "--set=parallel.data=2", "--set=train.train_micro_batch_size_per_gpu=auto"], {}),
    "dsc-selective": (["dsc_gpt2.py", "--set=train.recompute=selective"], {}),
    "dsc-full": (["dsc_gpt2.py", "--set=train.recompute=full"], {}),
    "torch-eager": (["peers/torch_gpt2.py"], {}),
    "torch-eager-tuned": (["peers/torch_gpt2.py"], TUNED),
    "torch-compiled": (["peers/torch_gpt2.py", "--compile"], {}),
    "torch-compiled-tuned": (["peers/torch_gpt2.py", "--compile"], TUNED),
    "jax": (["peers/jax_gpt2.py"], {}),
}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("case")
parser.add_argument("contestants", nargs="*", metavar="CONTESTANT", default=[name for name in CONTESTANTS if not name.startswith("dsc-")])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--warmup", type=int, default=2)
args = parser.parse_args()

results = {}
for turn in range(args.rounds):
    for name in args.contestants:
        script, extra = CONTESTANTS[name]
        command = [sys.executable, str(HERE / script[0]), args.case, f"--steps={args.steps}", f"--warmup={args.warmup}", *script[1:]]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | extra)
        if done.returncode:
            print(f"{name}: exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            continue
        results.setdefault(name, []).append(json.loads(done.stdout.strip().splitlines()[-1]))
        print(f"round {turn + 1}: {name}: {results[name][-1]}", file=sys.stderr, flush=True)

ours = results.get("dsc")
print(f"| {args.case} | ms a step, median | least | tokens/s | peak MB | first loss | dsc is |")
print("|---|---|---|---|---|---|---|")
for name, lines in results.items():
    middle = statistics.median(line["ms_median"] for line in lines)
    ratio = middle / statistics.median(line["ms_median"] for line in ours) if ours else float("nan")
    print(f"| {name} | {middle:.1f} | {min(line['ms_min'] for line in lines):.1f} | {statistics.median(line['tokens_per_second'] for line in lines):.0f} "
          f"| {max(line['peak_mb'] for line in lines)} | {lines[0]['first_loss']:.6f} | {ratio:.2f}× |")
