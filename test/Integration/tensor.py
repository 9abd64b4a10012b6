"""Tensor-parallel ranks against one device and the float64 reference.

    tensor.py --work=DIR [--precision=fp16]

Sizes that nothing divides: a vocabulary of 131 and an MLP of 250 over 2 and 4 ranks, sequences of 37, with label smoothing, means over
samples, clipping, attention dropout, tied and untied heads, micro-batches, packed two ways with data parallelism. After 20
updates the root mean square error over all weights against the reference is at most twice that of one device, and every line of the
log has the same tokens and updates, loss and norm within what one device is given.
"""
import argparse
import array
import json
import math
import os
import random
import subprocess

from paired import MIXED_PROMISE, PROMISE, read_log, write_npy

STEPS, LENGTH, VOCABULARY, BATCH = 20, 37, 131, 4
FP16 = {"fp16": {"enabled": True, "initial_scale_power": 12}}
CASES = (
    # name, model, train, objective, layouts
    ("tied, smoothed", {"attn_pdrop": 0.0}, {"gradient_clipping": 0.5}, {"label_smoothing": 0.1}, ({"tensor": 2}, {"tensor": 4})),
    ("untied, attention dropout, means over samples", {"attn_pdrop": 0.2, "resid_pdrop": 0.1, "tie_word_embeddings": False},
     {"loss_reduction": "sample", "gradient_accumulation_steps": 2}, {}, ({"tensor": 2}, {"tensor": 4})),
    ("with data parallelism", {"attn_pdrop": 0.1}, {"gradient_clipping": 1.0}, {}, ({"tensor": 2, "data": 2}, {"tensor": 4, "data": 2})),
)


def weights(path):
    """Tensors of a safetensors file, by name."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, data = json.loads(f.read(size)), f.read()
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = array.array({"F32": "f", "F64": "d"}[entry["dtype"]], data[begin:end])
    return found


def error(got, wanted):
    assert got.keys() == wanted.keys(), (sorted(got), sorted(wanted))
    squares = count = 0
    for name in wanted:
        assert len(got[name]) == len(wanted[name]), name
        squares += sum((a - b) ** 2 for a, b in zip(got[name], wanted[name]))
        count += len(wanted[name])
    return math.sqrt(squares / count)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    p.add_argument("--precision", default="f32", choices=["f32", "fp16"])
    arguments = p.parse_args()
    work, half = arguments.work, arguments.precision == "fp16"
    r = random.Random(21)
    tokens = [r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * (LENGTH + 1))]
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1), tokens)
    labels = [-100 if r.random() < 0.2 else r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * LENGTH)]
    write_npy(os.path.join(work, "labels.npy"), (STEPS, BATCH, LENGTH), labels)

    def run(*command):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def train(spec, layout, folder):
        whole = spec | {"parallel": layout}
        whole["train"] = {k: v for k, v in spec["train"].items() if k != "gradient_accumulation_steps" or "data" not in layout}
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(whole, f)
        run("dsc", "model.json", "-o", f"{folder}.bin")
        run("dsrun", f"{folder}.bin", f"--log={folder}.jsonl", "--set", f"checkpoint.dir={os.path.join(work, folder)}")
        return weights(os.path.join(work, folder, "final/model.safetensors")), read_log(os.path.join(work, f"{folder}.jsonl"))

    for name, model, more, objective, layouts in CASES[:1] if half else CASES:
        spec = {"schema_version": 1,
                "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 4, "n_inner": 250, "n_positions": LENGTH + 3,
                          "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0} | model,
                "objective": objective, "data": {"train": [{"path": "tokens.npy", "format": "replay", "labels": "labels.npy"}]},
                "train": {"train_batch_size": BATCH, "steps": STEPS,
                          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "weight_decay": 0.1}}} | more | (FP16 if half else {}),
                "checkpoint": {"every": 0, "dir": "final"}}
        alone, log = train(spec, {}, "alone")
        run("dsc-reference", "model.json", "--save=reference", "--log=reference.jsonl")
        wanted = weights(os.path.join(work, "reference/model.safetensors"))
        one = error(alone, wanted)
        for layout in layouts:
            dealt, lines = train(spec, layout, "dealt")
            promise = {"loss": MIXED_PROMISE["fp16"] if half else PROMISE, "grad_norm": 4 * MIXED_PROMISE["fp16"] if half else 4 * PROMISE}
            for line, expected in zip(lines, log, strict=True):
                for key in ("step", "updates", "counted_tokens", "skipped", "loss_scale"):
                    assert line.get(key) == expected.get(key), (name, layout, key, line, expected)
                for key, bound in promise.items():
                    assert abs(line[key] - expected[key]) <= bound * abs(expected[key]), (name, layout, key, line, expected)
            many = error(dealt, wanted)
            print(f"{name}, {layout}: error {many:.2e}, one device {one:.2e}")
            assert one > 0 and many <= 2 * one, (name, layout, many, one)
    print("every layout within twice the error of one device")


if __name__ == "__main__":
    main()
