"""One small run under several loss scales in f32: logs (times and the scale aside) and weights are equal to the bit."""
import argparse
import json
import os
import random
import subprocess

from paired import TIMES, read_bytes, read_log, write_npy

STEPS, BATCH, LENGTH, VOCABULARY = 6, 6, 11, 40


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(5)
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1),
              [r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * (LENGTH + 1))])
    spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 2, "n_positions": LENGTH,
                                           "vocab_size": VOCABULARY, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
            "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
            "train": {"train_batch_size": BATCH, "steps": STEPS, "gradient_clipping": 0.5, "loss_scaling": True,
                      "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "weight_decay": 0.1}}}}
    for parts in (1, 3):
        results = []
        for power in (0, 1, 10, 20):
            spec["train"] |= {"gradient_accumulation_steps": parts, "fp16": {"initial_scale_power": power, "loss_scale_window": 4}}
            name = os.path.join(work, f"{parts}-{power}")
            with open(os.path.join(work, "model.json"), "w") as f:
                json.dump(spec, f)
            for command in (["dsc", os.path.join(work, "model.json"), "-o", os.path.join(work, "plan.bin")],
                            ["dsrun", os.path.join(work, "plan.bin"), f"--log={name}.jsonl", f"--save={name}"]):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            lines = read_log(name + ".jsonl")
            assert [line["loss_scale"] for line in lines] == [2.0**power] * 4 + [2.0 ** (power + 1)] * 2, lines
            results.append(([{k: v for k, v in line.items() if k not in TIMES + ("loss_scale",)} for line in lines],
                            read_bytes(os.path.join(name, "model.safetensors"))))
        assert all(result == results[0] for result in results), f"accumulation {parts}: scales differ"
        print(f"accumulation {parts}: {len(results)} scales, the same bits")


if __name__ == "__main__":
    main()
