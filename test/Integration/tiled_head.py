"""A vocabulary so large that the output head is cut into runs of rows: the log is that of dsc-reference, which cuts nothing.

    tiled_head.py --work=DIR

With one micro-batch and with two, whose gradients of the tied table add up across runs and micro-batches; each sample weighs the same, however
many of its labels count, so runs need their own part of the weights too. Within the bound that the project
states for f32; one and two threads give the same bits.
"""
import argparse
import json
import os
import random
import re
import subprocess

from paired import PROMISE, TIMES, read_bytes, read_log, relative, write_npy

STEPS, BATCH, LENGTH, VOCABULARY = 2, 4, 130, 70001  # 2 x 130 rows of logits are more than 64 MiB


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(2)
    tokens = [[r.randrange(VOCABULARY) for _ in range(LENGTH + 1)] for _ in range(STEPS * BATCH)]
    labels = [[-100 if r.random() < 0.3 else token for token in row[1:]] for row in tokens]
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1), sum(tokens, []))
    write_npy(os.path.join(work, "labels.npy"), (STEPS, BATCH, LENGTH), sum(labels, []))

    def run(*command):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")

    timeless = lambda name: [{k: v for k, v in line.items() if k not in TIMES} for line in read_log(os.path.join(work, name))]
    spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 1, "n_embd": 16, "n_head": 2, "n_positions": LENGTH,
                                           "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
            "data": {"train": [{"path": "tokens.npy", "format": "replay", "labels": "labels.npy"}]},
            "objective": {"label_smoothing": 0.1},
            "train": {"train_batch_size": BATCH, "gradient_accumulation_steps": 2, "steps": STEPS, "loss_reduction": "sample", "gradient_clipping": 0.5,
                      "optimizer": {"type": "SGD", "params": {"lr": 5.0, "momentum": 0.9}}}}
    with open(os.path.join(work, "model.json"), "w") as f:
        json.dump(spec, f)
    run("dsc", "model.json", "-o", "plan.bin")
    run("dsrun", "plan.bin", "--threads=1", "--log=one.jsonl", "--save=one")
    run("dsrun", "plan.bin", "--threads=2", "--log=two.jsonl", "--save=two", "--poison-memory")
    run("dsc-reference", "model.json", "--log=reference.jsonl")
    dump = subprocess.run(["dsc-dump", "plan.bin"], cwd=work, stdout=subprocess.PIPE, text=True).stdout
    runs = len(re.findall(r"^ +\d+ cross_entropy_grad_", dump, re.M))  # kernels: the last run is shorter
    assert runs > 1, "the head is not cut"
    assert timeless("one.jsonl") == timeless("two.jsonl")
    assert read_bytes(os.path.join(work, "one/model.safetensors")) == read_bytes(os.path.join(work, "two/model.safetensors"))
    for line, wanted in zip(timeless("one.jsonl"), timeless("reference.jsonl"), strict=True):
        for key in ("loss", "grad_norm"):
            assert relative(line[key], wanted[key]) <= PROMISE, (key, line, wanted)
    print(f"a head in runs of {runs} sizes: the loss and gradient of one that is not cut")


if __name__ == "__main__":
    main()
