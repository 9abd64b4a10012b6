"""Packed documents: dsrun against dsc-reference, and a document's loss whatever stands beside it.

    packing.py --work=DIR

Texts of 1 to 70 bytes in windows of 40, cut where they are longer; dropout everywhere; whole batches and micro-batches. Losses,
gradient norms and validation losses within the bound that the project states for f32.
"""
import argparse
import json
import os
import random
import subprocess

from paired import PROMISE, read_log

SEPARATOR, LENGTH, STEPS = "\n%\n", 40, 5


def run(work, *command):
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(2)
    texts = ["".join(r.choice("abcdef ") for _ in range(r.choice((1, 3, 7, 19, 39, 40, 70)))) for _ in range(200)]
    with open(os.path.join(work, "a.txt"), "w") as f:
        f.write(SEPARATOR.join(texts))
    spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 3, "n_positions": LENGTH,
                                           "vocab_size": 257, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
            "data": {"train": [{"path": "a.txt", "separator": SEPARATOR}], "packing": "documents", "validation_fraction": 0.1},
            "train": {"train_batch_size": 4, "steps": STEPS, "gradient_clipping": 1.0, "optimizer": {"params": {"lr": 1e-3}}},
            "evaluation": {"every": 2}}
    longer = sum(len(text) + 1 > LENGTH for text in texts[:180])
    counted = []
    for micro in (4, 2):
        spec["train"]["train_micro_batch_size_per_gpu"] = micro
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(spec, f)
        run(work, "dsc", "model.json", "-o", "plan.bin")
        said = run(work, "dsrun", "plan.bin", "--log=run.jsonl", "--poison-memory")
        assert f"{longer} of 180 documents are longer than {LENGTH} tokens: split" in said, said
        run(work, "dsc-reference", "model.json", "--log=reference.jsonl")
        lines, wanted = (read_log(os.path.join(work, name)) for name in ("run.jsonl", "reference.jsonl"))
        assert len(lines) == STEPS
        for line, other in zip(lines, wanted, strict=True):
            assert line["counted_tokens"] == other["counted_tokens"] < line["tokens"] == 4 * LENGTH, (line, other)
            for key in ("loss", "grad_norm", "eval_loss"):
                assert (line.get(key) is None) == (other.get(key) is None), (key, line, other)
                if line.get(key) is not None:
                    assert abs(line[key] - other[key]) <= PROMISE * abs(other[key]), (micro, key, line, other)
        counted.append([line["counted_tokens"] for line in lines])
    assert counted[0] == counted[1]
    # Each pair of neighbours of a text is counted once, whatever its window.
    with open(os.path.join(work, "whole.json"), "w") as f:
        json.dump(spec | {"data": spec["data"] | {"validation_fraction": 0, "validation": spec["data"]["train"]},
                          "evaluation": {}, "train": spec["train"] | {"steps": 0}}, f)
    run(work, "dsc", "whole.json", "-o", "whole.bin", "--set", "train.steps=1", "--set", "checkpoint.dir=saved")
    run(work, "dsrun", "whole.bin")
    said = run(work, "dsrun", "whole.bin", "--evaluate")
    assert f"over {sum(len(text) for text in texts):,} tokens" in said, said
    # Too long: cut off, or left out, as configured.
    for policy in ("truncate", "drop"):
        run(work, "dsc", "model.json", "-o", "plan.bin", "--set", f"data.long_documents={policy}")
        said = run(work, "dsrun", "plan.bin", "--steps=1")
        assert f"{longer} of 180 documents are longer than {LENGTH} tokens: {policy.rstrip('ep')}" in said, said
    print("packed as the reference packs")


if __name__ == "__main__":
    main()
