"""A batch that grows, against the same run written as a replay: rows beyond a step's size are padding, and no bit differs.

    batch_ramp.py --work=DIR

Sizes follow Megatron's loop and rows the order of the epoch, both written again here. The ramp leaves out micro-batches of padding,
the replay runs them. With `reproducible` "layout" both run them; that run and the one in place agree with dsc-reference.
"""
import argparse
import array
import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Unit/Data"))
from paired import PROMISE, TIMES, read_bytes, read_log, write_npy
from replay_order import epoch_order

BATCH, LENGTH, VOCABULARY, ROWS, SEED, EPOCHS = 8, 9, 60, 29, 7, 2
RAMP = {"start": 2, "increment": 2, "samples": 18}


def sizes():
    consumed, increments = 0, (BATCH - RAMP["start"]) // RAMP["increment"]
    while True:
        size = BATCH if consumed > RAMP["samples"] else RAMP["start"] + RAMP["increment"] * (consumed * increments // RAMP["samples"])
        consumed += size
        yield size


def batches(ids):
    """Size, tokens and labels of each step."""
    size = sizes()
    for epoch in range(EPOCHS):
        order, row = epoch_order(SEED, epoch, ROWS), 0
        while row < ROWS:
            n = next(size)
            windows = [ids[w * LENGTH:w * LENGTH + LENGTH + 1] for w in order[row:row + n]]
            row += n
            padding = BATCH - len(windows)
            yield n, windows + [[0] * (LENGTH + 1)] * padding, [w[1:] for w in windows] + [[-100] * LENGTH] * padding


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(5)
    ids = [r.randrange(VOCABULARY) for _ in range(ROWS * LENGTH + 1)]
    with open(os.path.join(work, "ids.bin"), "wb") as f:
        f.write(array.array("H", ids).tobytes())
    steps = list(batches(ids))
    write_npy(os.path.join(work, "tokens.npy"), (len(steps), BATCH, LENGTH + 1), sum((row for s in steps for row in s[1]), []))
    write_npy(os.path.join(work, "labels.npy"), (len(steps), BATCH, LENGTH), sum((row for s in steps for row in s[2]), []))

    def train(name, data, more, *programs):
        spec = {"schema_version": 1,
                "model": {"model_type": "gpt2", "n_layer": 1, "n_embd": 20, "n_head": 2, "n_positions": LENGTH, "vocab_size": VOCABULARY,
                          "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
                "data": data | {"seq_length": LENGTH},
                "train": {"train_batch_size": BATCH, "train_micro_batch_size_per_gpu": 2, "gradient_clipping": 0.5,
                          "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "weight_decay": 0.1}},
                          "scheduler": {"type": "linear", "params": {"total_steps": len(steps)}}} | more}
        path = os.path.join(work, name)
        with open(path + ".json", "w") as f:
            json.dump(spec, f)
        for command in (["dsc", path + ".json", "-o", path + ".plan"], ["dsrun", path + ".plan", f"--log={path}.jsonl", f"--save={path}"],
                        *programs):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
        lines = read_log(path + ".jsonl")
        return lines, ([{k: v for k, v in line.items() if k not in (*TIMES, "tokens")} for line in lines],
                       read_bytes(os.path.join(path, "model.safetensors")))

    text = {"train": [{"path": "ids.bin", "format": "uint16"}], "seed": SEED}
    replay = {"train": [{"path": "tokens.npy", "format": "replay", "labels": "labels.npy"}]}
    for order in ("run", "layout"):
        reference = os.path.join(work, "reference.jsonl")
        lines, ramp = train("ramp", text, {"batch_ramp": RAMP, "epochs": EPOCHS, "reproducible": order},
                            ["dsc-reference", os.path.join(work, "ramp.json"), f"--log={reference}"])
        assert [line["tokens"] for line in lines] == [LENGTH * n for n, _, _ in steps], lines
        assert [line["counted_tokens"] for line in lines] == [sum(label != -100 for row in s[2] for label in row) for s in steps], lines
        assert ramp == train("replay", replay, {"reproducible": order})[1], order
        for line, wanted in zip(lines, read_log(reference), strict=True):
            assert line["tokens"] == wanted["tokens"] and line["counted_tokens"] == wanted["counted_tokens"], (line, wanted)
            for key in ("loss", "grad_norm"):
                assert abs(line[key] - wanted[key]) <= PROMISE * abs(wanted[key]), (key, line, wanted)
    print("sizes", *(n for n, _, _ in steps), "and the bits of a replay with padding")
    print("the reference agrees, in place and in a tree")
    print(f"{EPOCHS} epochs of {ROWS} sequences: {len(steps)} steps")


if __name__ == "__main__":
    main()
