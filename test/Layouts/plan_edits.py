"""Edits of good plans, judged by the verifier and by running them: plan_edits.py --work=DIR [--count=N] [--seed=S]

Compiles small plans of many ranks, draws edits of them (edit-plans), and runs each plan that the verifier passes with poisoned memory
under a deadline. Where the results differ from those of the good plan it is run again without poison: results that depend on it come
from memory that was never written. Exit 1 if a plan that passed hangs, crashes, reads what was never written or has live buffers that
overlap. Edits that only change a value are counted apart. DIR/results.jsonl has a line for each.
Needs dsc, dsrun and edit-plans in PATH, and nothing but Python's own library.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Integration"))
from paired import TIMES, write_npy  # noqa: E402

LENGTH, ROWS, STEPS = 8, 4, 2
DEADLINE = 30
# data, ZeRO stage, precision, stages, schedule
PLANS = [(2, 0, None, 1, None), (2, 1, "bf16", 1, None), (4, 1, None, 1, None), (2, 2, "fp16", 1, None), (2, 3, None, 1, None),
         (4, 3, "bf16", 1, None), (1, 0, None, 2, "gpipe"), (2, 1, "fp16", 2, "1f1b"), (1, 0, None, 4, "1f1b"),
         (1, 0, "bf16", 2, "interleaved"), (1, 0, None, 2, "zero_bubble")]


def compile_plans(work):
    r = random.Random(1)
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, ROWS, LENGTH + 1), [r.randrange(32) for _ in range(STEPS * ROWS * (LENGTH + 1))])
    names = []
    for data, zero, precision, stages, schedule in PLANS:
        name = f"data{data}-zero{zero}-stages{stages}" + (f"-{precision}" if precision else "") + (f"-{schedule}" if schedule else "")
        train = {"train_batch_size": ROWS, "train_micro_batch_size_per_gpu": 1, "steps": STEPS, "gradient_clipping": 0.5,
                 "optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}, "zero_optimization": {"stage": zero}}
        if precision:
            train[precision] = {"enabled": True}
        parallel = {"data": data, "pipeline": stages} | ({"schedule": schedule} if schedule else {})
        interleave = 2 if schedule == "interleaved" else 1
        parallel |= {"interleave": interleave} if interleave > 1 else {}
        spec = {"schema_version": 1, "parallel": parallel, "train": train,
                "model": {"model_type": "gpt2", "n_positions": LENGTH, "n_layer": stages * interleave, "n_embd": 16, "n_head": 2, "vocab_size": 32},
                "data": {"train": [{"path": "tokens.npy", "format": "replay"}]}, "checkpoint": {"dir": "kept", "every": 0}}
        with open(os.path.join(work, name + ".json"), "w") as f:
            json.dump(spec, f)
        cache = os.environ.get("DSC_KERNEL_CACHE")
        subprocess.run(["dsc", name + ".json", "-o", name + ".bin", *([f"--kernel-cache={cache}"] if cache else [])],
                       cwd=work, check=True, stdout=subprocess.DEVNULL)
        names.append(name + ".bin")
    return names


def run(work, plan, poison):
    """(exit code, or "hang" or "crash", output) and what came of it."""
    kept = os.path.join(work, "kept")
    shutil.rmtree(kept, ignore_errors=True)
    command = ["dsrun", plan, f"--steps={STEPS}", "--log=log.jsonl", "--threads=4", "--collective-timeout=5"]
    log = os.path.join(work, "log.jsonl")
    if os.path.exists(log):
        os.remove(log)
    try:
        done = subprocess.run(command + (["--poison-memory"] if poison else []), cwd=work, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        return "hang", f"not done after {DEADLINE} s", None
    if done.returncode < 0:
        return "crash", f"signal {-done.returncode}: " + done.stdout[-300:], None
    result = []
    if os.path.exists(log):
        with open(log) as f:
            for line in f:
                entry = json.loads(line)
                result.append({key: value for key, value in entry.items() if key not in TIMES and key != "plan"})
    weights = os.path.join(kept, "final/model.safetensors")
    if os.path.exists(weights):
        with open(weights, "rb") as f:
            result.append(f.read())
    return done.returncode, done.stdout[-600:], [done.returncode, [repr(entry) for entry in result]]


def judge(work, plan, good):
    code, output, result = run(work, plan, poison=True)
    if code in ("hang", "crash"):
        return code, output
    if code == 5:
        return "hang", output
    if code == 6 or code == 3 or code == 2:
        return "refused at start", output
    if code not in (0, 4):
        return "crash", f"exit code {code}: {output}"
    if result == good:
        return "same results", ""
    _, again_output, again = run(work, plan, poison=False)
    if again != result:
        return "unwritten", output + again_output
    return "value changed", ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    work = os.path.abspath(args.work)
    os.makedirs(work, exist_ok=True)
    names = compile_plans(work)
    good = {name: run(work, name, poison=True)[2] for name in names}
    for name, result in good.items():
        if result is None or result[0]:
            sys.exit(f"{name} does not run")
    drawn = subprocess.run(["edit-plans", work, str(args.seed), str(args.count), *names], cwd=work, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    counts, rules, bad = collections.Counter(), collections.Counter(), 0
    with open(os.path.join(work, "results.jsonl"), "w") as out:
        for line in map(json.loads, drawn):
            if line["refused"]:
                line["verdict"] = "refused"
                rules[line["refused"].split("[", 1)[1].split("]")[0]] += 1
            else:
                edited = os.path.join(work, f"{line['number']}.bin")
                line["verdict"], line["output"] = judge(work, edited, good[line["plan"]])
                if line["overlap"]:
                    line["verdict"] = "overlap"
                os.remove(edited)
            counts[line["verdict"]] += 1
            out.write(json.dumps(line) + "\n")
            if line["verdict"] in ("hang", "crash", "unwritten", "overlap"):
                bad += 1
                print(f"edit {line['number']} of {line['plan']}, {line['edit']}: passes and is bad: {line['verdict']} {line['overlap']}"
                      f"\n{line['output']}", flush=True)
    print("rules: " + ", ".join(f"[{rule}] {count}" for rule, count in rules.most_common()))
    print("edits: " + ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common()))
    print(f"{len(drawn)} edits of {len(names)} plans: {bad} bad ones pass")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
