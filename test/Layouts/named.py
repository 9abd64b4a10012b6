"""Known mistakes of other systems with many ranks, each as the layout that would show it: named.py --work=DIR

Compared with one device on the same micro-batches: log and weights bit for bit, with a tensor degree losses and norms to 4e-6 and weights as
layouts.py says. Labels are counted unequally, one micro-batch has none. Needs dsc, dsrun, dsc-dump and dsc-reference in PATH.
"""
import argparse
import re

from layouts import Runner, SHAPES

PLAIN = {"data": 1, "tensor": 1, "pipeline": 1, "schedule": "1f1b", "zero": 0, "accumulation": 2, "bucket": 1 << 25, "precision": "f32",
         "dropout": 0, "tied": True, "optimizer": "AdamW", "shape": "even"}
SHAPES["five"] = SHAPES["even"] | {"n_layer": 1, "vocab_size": 5}
CASES = [
    ("GA-02", "two ranks with unequal counts", {"data": 2, "accumulation": 1}),
    ("MP-06", "an overflow of one rank skips the step of all", {"data": 2, "precision": "fp16", "pipeline": 2}),
    ("LR-06", "the schedule counts updates, not processes", {"data": 4, "accumulation": 1}),
    ("DR-01", "masks are those of one device for each sample", {"data": 2, "dropout": 0.2}),
    ("GA-07", "two stages, four micro-batches", {"pipeline": 2, "accumulation": 4}),
    ("GA-08", "the norm with two stages", {"pipeline": 2}),
    ("CL-04", "a table tied over both ends counts once", {"pipeline": 2, "optimizer": "SGD"}),
    ("PP-01", "both copies of a tied table", {"pipeline": 3, "shape": "uneven"}),
    ("PP-02", "a tied table whose optimizer is shared out", {"data": 2, "pipeline": 2, "zero": 1}),
    ("PP-07", "1F1B with two ranks a stage", {"data": 2, "pipeline": 2, "accumulation": 4}),
    ("CL-02", "parameters that all tensor ranks have count once in the norm", {"tensor": 2}),
    ("CL-03", "the norm over cut parameters is no maximum", {"tensor": 4, "accumulation": 1}),
    ("SH-02", "5 classes over 2 ranks: padding has no part in the softmax", {"tensor": 2, "shape": "five"}),
    ("SH-03", "5 classes over 4 ranks are saved as 5", {"tensor": 4, "shape": "five", "tied": False}),
]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    runner = Runner(p.parse_args().work, "")
    for name, text, changes in CASES:
        difference = runner.compare(PLAIN | changes)
        assert not difference, (name, text, difference)
        if name == "MP-06":
            skipped = [line["skipped"] for line in runner.alone(PLAIN | changes)[1]]
            assert "overflow" in skipped and None in skipped, skipped
        print(f"{name}: {text}: as one device")
    # GA-15: each gradient crosses once a window, whatever the number of micro-batches.
    runner.compare(PLAIN | {"data": 2, "accumulation": 4, "bucket": 0})
    lines = [line for line in runner.run("dsc-dump", "case.bin", "--section=communication").splitlines() if "gradients." in line]
    parameters = 2 + 12 * SHAPES["even"]["n_layer"] + 2 + 1  # tables, blocks, last norm; the tied table has two sums
    assert len(lines) == parameters and all(re.match(r"  1 x all_reduce data 2", line) for line in lines), (parameters, lines)
    print(f"GA-15: {len(lines)} sums of gradients cross once a window of 4 micro-batches")


if __name__ == "__main__":
    main()
