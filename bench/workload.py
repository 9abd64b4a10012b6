"""What every contestant of a benchmark starts from: the same GPT-2 weights, the same random tokens, the same report.

A case of cases.json is a GPT-2 with tied head, tanh GELU and no dropout, trained in f32 with AdamW (decay on matrices), clipping at
1 and a constant rate. `tokens` are int32 [steps, batch, length + 1].
"""
import argparse
import json
import math
import os
import pathlib
import resource
import statistics

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZER = {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
CLIP = 1.0
FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8")


def arguments(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("case", choices=json.loads((HERE / "cases.json").read_text()))
    parser.add_argument("--steps", type=int, default=8, help="timed steps")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them, not timed; the first may compile")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser


def load(name):
    return json.loads((HERE / "cases.json").read_text())[name]


def weights(case):
    rng = np.random.default_rng(20)
    d = case["n_embd"]

    def normal(*shape, scale=0.02):
        return (scale * rng.standard_normal(shape, np.float32)).astype(np.float32)

    out = {"wte.weight": normal(case["vocab_size"], d), "wpe.weight": normal(case["n_positions"], d)}
    deep = 0.02 / math.sqrt(2 * case["n_layer"])
    for i in range(case["n_layer"]):
        h = f"h.{i}."
        for ln in ("ln_1", "ln_2"):
            out[h + ln + ".weight"], out[h + ln + ".bias"] = np.ones(d, np.float32), np.zeros(d, np.float32)
        for name, rows, columns, scale in (("attn.c_attn", d, 3 * d, 0.02), ("attn.c_proj", d, d, deep),
                                           ("mlp.c_fc", d, 4 * d, 0.02), ("mlp.c_proj", 4 * d, d, deep)):
            out[h + name + ".weight"], out[h + name + ".bias"] = normal(rows, columns, scale=scale), np.zeros(columns, np.float32)
    out["ln_f.weight"], out["ln_f.bias"] = np.ones(d, np.float32), np.zeros(d, np.float32)
    return out


def tokens(case, steps):
    shape = (steps, case["batch"], case["length"] + 1)
    return np.random.default_rng(21).integers(0, case["vocab_size"], shape, dtype=np.int32)


def report(name, case, timed, losses, peak_mb=None):
    """The JSON line that compare.py reads. `timed`: seconds of each timed step."""
    median = statistics.median(timed)
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    peak = peak_mb or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"name": name, "ms_median": round(1e3 * median, 2), "ms_min": round(1e3 * min(timed), 2),
                      "tokens_per_second": round(case["batch"] * case["length"] / median), "peak_mb": round(peak),
                      "first_loss": losses[0], "last_loss": losses[-1], "cpu": [f for f in FLAGS if f in flags]}), flush=True)
