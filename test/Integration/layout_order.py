"""The order in which micro-batches are added, seen from outside: exchanging rows of a window changes bits exactly where the tree says."""
import argparse
import json
import os
import random
import re
import subprocess

from paired import TIMES, read_bytes, read_log, write_npy

LENGTH, VOCABULARY = 9, 40


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(3)
    path, plan = os.path.join(work, "model.json"), os.path.join(work, "plan.bin")

    def train(order, name="run", program=("dsrun", plan)):
        write_npy(os.path.join(work, "tokens.npy"), (1, len(order), LENGTH + 1), [token for row in order for token in rows[row]])
        run("dsc", path, "-o", plan)  # a plan knows its data by a hash
        run(*program, f"--log={os.path.join(work, name)}.jsonl", f"--save={os.path.join(work, name)}")
        (line,) = read_log(os.path.join(work, name + ".jsonl"))
        return {k: v for k, v in line.items() if k not in TIMES}, read_bytes(os.path.join(work, name, "model.safetensors"))

    # Exchanges that keep every subtree's members together, and some that do not.
    for parts, shape, same, other in (
            (4, "((0 1) (2 3))", ([3, 2, 0, 1],), ([0, 2, 1, 3],)),
            (7, "(((0 1) (2 3)) ((4 5) 6))", ([2, 3, 1, 0, 5, 4, 6],), ([0, 1, 2, 3, 4, 6, 5],))):
        rows = [[r.randrange(VOCABULARY) for _ in range(LENGTH + 1)] for _ in range(parts)]
        spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 1, "n_embd": 24, "n_head": 2, "n_positions": LENGTH,
                                               "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
                "init": {"seed": 5}, "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
                "train": {"train_batch_size": parts, "gradient_accumulation_steps": parts, "steps": 1, "gradient_clipping": 0.5,
                          "reproducible": "layout", "optimizer": {"type": "SGD", "params": {"lr": 1.0}}}}
        with open(path, "w") as f:
            json.dump(spec, f)
        expected = train(list(range(parts)))
        for order in same:
            assert train(order) == expected, (parts, order)
        for order in other:
            assert train(order)[1] != expected[1], (parts, order)
        dry = run("dsc", path, "--dry-run")
        weights, gradients = (int(re.search(rf"^  {name} +([0-9,]+)", dry, re.M).group(1).replace(",", "")) for name in ("weights", "gradients"))
        table = VOCABULARY * 24 * 4  # the tied table has a gradient for each of its uses
        assert gradients == 3 * (weights + table), (gradients, weights)
        print(f"{parts} micro-batches: {shape}, 3 sets of gradients")
    loss = expected[0]["loss"]
    reference = train(list(range(7)), "reference", ("dsc-reference", path, "--steps=1"))[0]["loss"]
    assert abs(loss - reference) < 2e-6 * reference, (loss, reference)
    print("the reference agrees")


if __name__ == "__main__":
    main()
