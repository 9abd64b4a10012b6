"""Pipelines against one device, case by case: pipelines.py --work=DIR [NAME...]

Logs and final weights are those of one device, bit for bit: in `reproducible: "layout"` always, in "run" where no tied parameter is cut.
Runs with poisoned memory. Names choose cases. Exit 1 if any differs.
"""
import argparse
import sys

from layouts import Runner, ranks

USUAL = {"data": 1, "tensor": 1, "pipeline": 2, "zero": 0, "bucket": 1 << 25, "accumulation": 4, "precision": "f32", "dropout": 0,
         "tied": True, "optimizer": "AdamW", "shape": "uneven", "schedule": "1f1b"}
CASES = {
    "one-micro-batch": {"accumulation": 1},
    "two": {"accumulation": 2, "dropout": 0.2},
    "eight": {"accumulation": 8},
    "three-stages": {"pipeline": 3, "dropout": 0.2, "accumulation": 8},
    "seven-stages": {"pipeline": 7, "accumulation": 2},
    "explicit-stages": {"pipeline": 3, "stages": [1, 5, 1]},
    "fp16": {"pipeline": 3, "precision": "fp16", "dropout": 0.2},
    "bf16": {"precision": "bf16", "accumulation": 3},
    "data": {"data": 2, "accumulation": 2, "dropout": 0.2},
    "zero": {"data": 2, "zero": 1, "accumulation": 4, "precision": "fp16"},
    "zero-untied": {"data": 2, "pipeline": 3, "zero": 1, "accumulation": 2, "tied": False, "optimizer": "SGD"},
    "zero-two": {"data": 2, "zero": 2, "dropout": 0.2, "bucket": 4096},
    "zero-three": {"data": 2, "zero": 3, "precision": "fp16", "schedule": "gpipe"},
    "zero-three-delayed": {"data": 2, "zero": 3, "schedule": "zero_bubble"},
    "zero-two-run": {"data": 2, "zero": 2, "schedule": "interleaved", "tied": False, "accumulation": 2},
    "lamb": {"optimizer": "Lamb", "tied": False},
    "gpipe": {"schedule": "gpipe", "accumulation": 5, "dropout": 0.2},
    "gpipe-three": {"schedule": "gpipe", "pipeline": 3, "data": 2, "zero": 1},
    "zero-bubble": {"schedule": "zero_bubble", "accumulation": 5, "dropout": 0.2},
    "zero-bubble-three": {"schedule": "zero_bubble", "pipeline": 3, "accumulation": 8, "precision": "fp16"},
    "zero-bubble-data": {"schedule": "zero_bubble", "data": 2, "zero": 1, "optimizer": "Lamb"},
    "interleaved": {"schedule": "interleaved", "interleave": 2, "dropout": 0.2},
    "interleaved-three": {"schedule": "interleaved", "pipeline": 3, "interleave": 2, "accumulation": 6, "precision": "fp16"},
    "run-untied": {"reproducible": "run", "tied": False, "accumulation": 8, "pipeline": 3},
    "run-gpipe": {"reproducible": "run", "tied": False, "schedule": "gpipe", "precision": "fp16"},
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    runner, bad = Runner(args.work, ""), 0
    for name in args.names or CASES:
        case = USUAL | CASES[name]
        difference = runner.compare(case)
        bad += bool(difference)
        print(f"{name}, {ranks(case)} ranks: {difference or 'as one device'}", flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
