"""Thirty fp16 steps, the seventh of which is made to overflow by `--set-state`.

    forced_overflow.py --work=DIR

That step is skipped: every variable but those of the scale keeps its bits, counters and learning rate stand still. The scale follows a
model of DeepSpeed's scaler written here again; dsc-reference, given the same, does the same. And a run that never sees the data of
the skipped step, under the same scales, ends with the same bits.
"""
import argparse
import json
import os
import random
import subprocess

from paired import MIXED_PROMISE, read_bytes, read_log, relative, write_npy

STEPS, BATCH, LENGTH, VOCABULARY, FORCED = 30, 4, 11, 40, 7
WINDOW, HYSTERESIS, START, PEAK, WARMUP = 6, 2, 2.0**8, 3e-3, 4


def scales_of(overflows, changes):
    """Scale of each step; `changes`: step -> scale it is set to. Growth after WINDOW good steps since the last overflow."""
    scale, last, left, history = START, 0, HYSTERESIS, []
    for step in range(1, STEPS + 1):
        scale = changes.get(step, scale)
        history.append(scale)
        if step in overflows:
            if left == 1:
                scale /= 2
            left, last = max(left - 1, 1), step
        elif (step - last) % WINDOW == 0:
            scale, left = 2 * scale, HYSTERESIS
    return history


def rate(t):
    return PEAK * (t + 1) / WARMUP if t < WARMUP else PEAK * (1 - (t - WARMUP) / (STEPS - WARMUP))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(7)
    tokens = [r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * (LENGTH + 1))]
    row = BATCH * (LENGTH + 1)
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1), tokens)
    write_npy(os.path.join(work, "fewer.npy"), (STEPS - 1, BATCH, LENGTH + 1), tokens[:(FORCED - 1) * row] + tokens[FORCED * row:])

    def run(*command):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")

    def digest(path):
        """step -> variable -> (hash, norm)."""
        steps = {}
        for line in read_log(os.path.join(work, path)):
            if not line["name"].startswith(("grad:", "window.")):
                steps.setdefault(line["step"], {})[line["name"]] = {k: v for k, v in line.items() if k != "step"}
        return steps

    for parts in (1, 4):
        spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 2, "n_positions": LENGTH,
                                               "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
                "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
                "train": {"train_batch_size": BATCH, "gradient_accumulation_steps": parts, "steps": STEPS, "gradient_clipping": 1.0,
                          "fp16": {"enabled": True, "initial_scale_power": 8, "loss_scale_window": WINDOW, "hysteresis": HYSTERESIS},
                          "optimizer": {"type": "AdamW", "params": {"lr": PEAK, "weight_decay": 0.1}},
                          "scheduler": {"type": "linear", "params": {"warmup_steps": WARMUP, "total_steps": STEPS}}}}
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(spec, f)
        changes = {FORCED: 2.0**40, FORCED + 1: 2.0**9}
        flags = [f"--set-state=loss_scale={scale!r}@{step}" for step, scale in changes.items()]
        run("dsc", "model.json", "-o", "plan.bin")
        run("dsrun", "plan.bin", "--log=plain.jsonl")
        run("dsrun", "plan.bin", "--log=run.jsonl", "--digest=run.digest", "--save=run", *flags)
        run("dsc-reference", "model.json", "--log=reference.jsonl", *flags)
        plain, lines, reference = (read_log(os.path.join(work, name)) for name in ("plain.jsonl", "run.jsonl", "reference.jsonl"))
        assert [line["loss_scale"] for line in plain] == scales_of(set(), {}), plain
        scales = scales_of({FORCED}, changes)
        updates = 0
        for step, (line, wanted) in enumerate(zip(lines, reference, strict=True), 1):
            assert line["skipped"] == ("overflow" if step == FORCED else None), line
            assert (line["grad_norm"] is None) == (step == FORCED), line
            assert line["loss_scale"] == scales[step - 1], (scales, line)
            assert relative(line["learning_rate"], rate(updates)) < 1e-14, line
            updates += step != FORCED
            assert line["updates"] == updates, line
            for key in ("step", "updates", "skipped", "loss_scale", "learning_rate"):
                assert line[key] == wanted[key], (key, line, wanted)
            for key, units in (("loss", 1), ("grad_norm", 4)):
                assert line[key] is None or relative(line[key], wanted[key]) <= units * MIXED_PROMISE["fp16"], (key, line, wanted)
            if step < FORCED:
                assert {k: v for k, v in line.items() if k not in ("tokens_per_second", "step_ms")} == {
                    k: v for k, v in plain[step - 1].items() if k not in ("tokens_per_second", "step_ms")}, (line, plain[step - 1])
        states = digest("run.digest")
        moved = {name for name, value in states[FORCED].items() if value != states[FORCED - 1][name]}
        assert moved and all(name.startswith("loss_scale.") for name in moved), moved
        assert all(states[FORCED + 1][name] != value for name, value in states[FORCED].items() if name.endswith("c_fc.weight"))

        fewer = scales[:FORCED - 1] + scales[FORCED:]
        run("dsrun", "plan.bin", "--set", "data.train.0.path=fewer.npy", "--set", f"train.steps={STEPS - 1}", "--save=fewer",
            *(f"--set-state=loss_scale={scale!r}@{step}" for step, scale in enumerate(fewer, 1)))
        assert read_bytes(os.path.join(work, "fewer/model.safetensors")) == read_bytes(os.path.join(work, "run/model.safetensors"))
        print(f"{parts} micro-batches: step {FORCED} of {STEPS} skipped, everything else as if it had not been")


if __name__ == "__main__":
    main()
