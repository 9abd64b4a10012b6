"""`reproducible` "layout" with what else changes a gradient: dsrun against dsc-reference, and stopped anywhere, to the bit.

    layout_variants.py --work=DIR

One micro-batch with a tied table and dropout, four with an untied one, two with frozen embeddings: losses and norms within the bound
that the project states for f32. Four in fp16, whose scale overflows and grows: within that of fp16, and a run that is
stopped after any step and resumed ends with the same log and weights.
"""
import argparse
import json
import os
import random
import subprocess

from paired import MIXED_PROMISE, PROMISE, TIMES, read_bytes, read_log, write_npy

STEPS, LENGTH, VOCABULARY = 6, 11, 61
EMBEDDINGS = {"param_groups": [{"match": "w?e.weight", "frozen": True}]}
FP16 = {"fp16": {"enabled": True, "initial_scale_power": 23, "hysteresis": 1, "loss_scale_window": 2}}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(13)
    for parts in (1, 2, 4):  # one row each, so that all plans share their kernels
        tokens = [[r.randrange(VOCABULARY) for _ in range(LENGTH + 1)] for _ in range(STEPS * parts)]
        labels = [[-100 if r.random() < i % parts / parts else token for token in row[1:]] for i, row in enumerate(tokens)]
        write_npy(os.path.join(work, f"tokens{parts}.npy"), (STEPS, parts, LENGTH + 1), sum(tokens, []))
        write_npy(os.path.join(work, f"labels{parts}.npy"), (STEPS, parts, LENGTH), sum(labels, []))

    def run(*command):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def outcome(folder):
        lines = read_log(os.path.join(work, folder, "log.jsonl"))
        return [{k: v for k, v in line.items() if k not in TIMES} for line in lines], read_bytes(
            os.path.join(work, folder, "kept/final/model.safetensors"))

    def train(folder, *more):
        return run("dsrun", "plan.bin", f"--log={folder}/log.jsonl", "--set", f"checkpoint.dir={os.path.join(work, folder)}/kept", *more)

    for name, parts, tied, dropout, more in (("1 micro-batch, tied, dropout", 1, True, 0.2, {}), ("4 micro-batches, untied", 4, False, 0, {}),
                                             ("2 micro-batches, frozen embeddings", 2, True, 0, EMBEDDINGS),
                                             ("4 micro-batches, fp16, dropout", 4, True, 0.2, FP16)):
        spec = {"schema_version": 1,
                "model": {"model_type": "gpt2", "n_layer": 1, "n_embd": 24, "n_head": 2, "n_positions": LENGTH, "vocab_size": VOCABULARY,
                          "tie_word_embeddings": tied, "resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": dropout},
                "data": {"train": [{"path": f"tokens{parts}.npy", "format": "replay", "labels": f"labels{parts}.npy"}]},
                "train": {"train_batch_size": parts, "gradient_accumulation_steps": parts, "steps": STEPS, "gradient_clipping": 0.5,
                          "reproducible": "layout", "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}}} | more,
                "checkpoint": {"every": 1, "keep": 99, "dir": "kept"}}
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(spec, f)
        run("dsc", "model.json", "-o", "plan.bin")
        train("straight")
        run("dsc-reference", "model.json", "--log=reference.jsonl")
        straight = outcome("straight")
        half = "fp16" in more
        promise = {"loss": MIXED_PROMISE["fp16"] if half else PROMISE, "grad_norm": 4 * MIXED_PROMISE["fp16"] if half else PROMISE}
        for line, wanted in zip(straight[0], read_log(os.path.join(work, "reference.jsonl")), strict=True):
            for key in ("step", "updates", "counted_tokens", "skipped", "loss_scale"):
                assert line.get(key) == wanted.get(key), (name, key, line, wanted)
            for key, bound in promise.items():
                assert (line[key] is None) == (wanted[key] is None), (name, key, line, wanted)
                if line[key] is not None:
                    assert abs(line[key] - wanted[key]) <= bound * abs(wanted[key]), (name, key, line, wanted)
        print(f"{name}: the reference agrees")
    skipped = [line["skipped"] for line in straight[0]]
    assert "overflow" in skipped and skipped[-1] is None and len({line["loss_scale"] for line in straight[0]}) > 1, straight[0]
    for k in range(1, STEPS):
        folder = f"stopped-{k}"
        train(folder, f"--steps={k}")
        assert f"resumed after step {k}" in train(folder, "--resume")
        assert outcome(folder) == straight, k
    print(f"stopped after any of {STEPS - 1} steps and resumed: the same log and weights")


if __name__ == "__main__":
    main()
