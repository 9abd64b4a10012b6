"""fp16 runs whose first loss scale is far too large.

    overflow.py --work=DIR

The scale falls until gradients fit: until then steps are skipped, `updates` and the learning rate stand still, and the weights saved
after the skipped steps are those of the start, to the bit. dsc-reference, which rounds to f16 as well, skips the same steps with the same
scales. With a floor that is too high the run stops with exit code 4 and names step and tensor.
"""
import argparse
import json
import os
import random
import subprocess

from paired import read_bytes, read_log, write_npy

STEPS, BATCH, LENGTH, VOCABULARY = 16, 4, 11, 40


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(3)
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1),
              [r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * (LENGTH + 1))])
    weights = lambda name: read_bytes(os.path.join(work, name, "model.safetensors"))

    def run(*command, status=0):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != status:
            raise SystemExit(f"{' '.join(command)} exited with {done.returncode}, expected {status}:\n{done.stdout}")
        return done.stdout

    def compile_spec(parts, **scaler):
        spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 2, "n_positions": LENGTH,
                                               "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
                "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
                "train": {"train_batch_size": BATCH, "gradient_accumulation_steps": parts, "steps": STEPS,
                          "fp16": {"enabled": True, "hysteresis": 1, **scaler},
                          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "weight_decay": 0.1}},
                          "scheduler": {"type": "linear", "params": {"warmup_steps": 4}}}}
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(spec, f)
        run("dsc", "model.json", "-o", "plan.bin")
        run("dsrun", "plan.bin", "--steps=0", "--save=start")

    for parts in (1, 4):
        compile_spec(parts, initial_scale_power=30)
        run("dsrun", "plan.bin", "--log=run.jsonl")
        run("dsc-reference", "model.json", "--log=reference.jsonl")
        lines, reference = read_log(os.path.join(work, "run.jsonl")), read_log(os.path.join(work, "reference.jsonl"))
        skips = sum(line["skipped"] == "overflow" for line in lines)
        assert 0 < skips < STEPS - 2, lines
        updates, scale = 0, 2.0**30
        for line, wanted in zip(lines, reference, strict=True):
            for key in ("step", "updates", "skipped", "loss_scale", "learning_rate"):
                assert line[key] == wanted[key], (key, line, wanted)
            assert line["loss_scale"] == scale, line
            assert updates >= 4 or line["learning_rate"] == 1e-3 * (updates + 1) / 4, line
            assert (line["grad_norm"] is None) == (line["skipped"] == "overflow"), line
            updates += line["skipped"] is None
            scale /= 2 if line["skipped"] else 1
            assert line["updates"] == updates, line
        applied = [line["step"] for line in lines if not line["skipped"]]
        for step in range(1, applied[1]):  # before the first update, and between it and the second
            run("dsrun", "plan.bin", f"--steps={step}", "--save=now")
            if step == applied[0]:
                run("dsrun", "plan.bin", f"--steps={step}", "--save=updated")
                assert weights("updated") != weights("start")
            assert weights("now") == weights("start" if step < applied[0] else "updated"), f"step {step} changed weights"
    print(f"skipped {skips} of {STEPS} steps, with 1 and 4 micro-batches: the same as the reference, weights untouched")

    compile_spec(1, initial_scale_power=30, min_loss_scale=2.0**29, max_skips_at_floor=3)
    output = run("dsrun", "plan.bin", "--log=run.jsonl", "--save=stopped", status=4)
    assert "step 4: the gradient norm is" in output and "first tensor that is not finite: " in output, output
    assert "no tensor" not in output, output
    assert len(read_log(os.path.join(work, "run.jsonl"))) == 3 and weights("stopped") == weights("start")
    print("stopped at the floor after 3 skips")


if __name__ == "__main__":
    main()
