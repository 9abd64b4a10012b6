"""One small run under every choice of recomputation: logs (times aside) and weights are equal to the bit, and less memory is planned."""
import argparse
import json
import os
import random
import re
import subprocess

from paired import TIMES, read_bytes, read_log, write_npy

STEPS, BATCH, LENGTH, VOCABULARY = 5, 4, 37, 257


def planned(spec):
    out = subprocess.run(["dsc", spec, "--dry-run"], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"^  activations +([0-9,]+)", out, re.M).group(1).replace(",", "")), out


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(7)
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1),
              [r.randrange(VOCABULARY) for _ in range(STEPS * BATCH * (LENGTH + 1))])
    texts = ["".join(r.choice("abcdef ") for _ in range(r.choice((1, 5, 11, 17, 36, 50)))) for _ in range(120)]
    with open(os.path.join(work, "texts.txt"), "w") as f:
        f.write("\n%\n".join(texts))
    replay = {"train": [{"path": "tokens.npy", "format": "replay"}]}
    packed = {"train": [{"path": "texts.txt", "separator": "\n%\n"}], "packing": "documents"}
    model = {"model_type": "gpt2", "n_layer": 3, "n_embd": 60, "n_head": 5, "n_positions": LENGTH, "vocab_size": VOCABULARY,
             "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
    train = {"train_batch_size": BATCH, "steps": STEPS, "gradient_clipping": 0.5,
             "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "weight_decay": 0.1}}}
    path = os.path.join(work, "model.json")
    for name, data, more, choices in (
            ("f32, 2 micro-batches", replay, {"gradient_accumulation_steps": 2}, ("none", "selective", "full", "auto")),
            ("fp16", replay, {"fp16": {"enabled": True, "initial_scale_power": 8}}, ("none", "full")),
            ("packed documents", packed, {"gradient_accumulation_steps": 2}, ("none", "full")),
            ("2 micro-batches in a tree", replay, {"gradient_accumulation_steps": 2, "reproducible": "layout"}, ("none", "full"))):
        results, memory = [], {}
        for choice in choices:
            spec = {"schema_version": 1, "model": model, "data": data,
                    "train": train | more | {"recompute": choice}}
            if choice == "auto":  # half way between nothing and all
                arenas = [int(row.split()[4].replace(",", "")) for row in table[1:4]]
                spec["train"]["memory_budget"] = (arenas[0] + arenas[2]) // 2
            with open(path, "w") as f:
                json.dump(spec, f)
            bytes_, out = planned(path)
            memory[str(choice)] = bytes_
            table = out[out.index("recomputation"):].splitlines()
            assert any(line.endswith("chosen") for line in table[1:]), out
            run = os.path.join(work, re.sub(r"\W", "", f"{name}{choice}"))
            for command in (["dsc", path, "-o", os.path.join(work, "plan.bin")],
                            ["dsrun", os.path.join(work, "plan.bin"), f"--log={run}.jsonl", f"--save={run}"]):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            lines = read_log(run + ".jsonl")
            assert len(lines) == STEPS and not any(line["skipped"] for line in lines), lines
            results.append(([{k: v for k, v in line.items() if k not in TIMES} for line in lines],
                            read_bytes(os.path.join(run, "model.safetensors"))))
        assert all(result == results[0] for result in results), f"{name}: choices differ"
        assert memory["none"] > memory["full"] and all(memory["none"] >= m >= memory["full"] for m in memory.values()), (name, memory)
        print(f"{name}: {len(results)} choices, the same bits")


if __name__ == "__main__":
    main()
