"""A batch of 6 in micro-batches of 6, 3, 2 and 1: the same loss, gradient norm and validation loss, whether the loss is the mean over
tokens or over samples.

    accumulation.py --work=DIR

Labels count unevenly, and the last sample not at all, so with micro-batches of 1 one has nothing to learn from. Everything within
2e-6 relative of dsc-reference on the whole batch, the bound that the project states for f32; dsc-reference itself, cut the same way,
within 1e-12. A mean of means, a division by the number of micro-batches or a sum that forgets one is off by far more.
"""
import argparse
import json
import os
import random
import subprocess

from paired import PROMISE, read_log, write_npy

STEPS, BATCH, LENGTH, VOCABULARY = 4, 6, 13, 50


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(11)
    tokens = [[r.randrange(VOCABULARY) for _ in range(LENGTH + 1)] for _ in range(STEPS * BATCH)]
    labels = [[-100 if i % BATCH == BATCH - 1 or r.random() < (i % BATCH) / BATCH else token for token in row[1:]]
              for i, row in enumerate(tokens)]
    write_npy(os.path.join(work, "tokens.npy"), (STEPS, BATCH, LENGTH + 1), sum(tokens, []))
    write_npy(os.path.join(work, "labels.npy"), (STEPS, BATCH, LENGTH), sum(labels, []))
    with open(os.path.join(work, "other.txt"), "w") as f:
        f.write("".join(chr(33 + i * i % 17) for i in range(7 * LENGTH - 3)))  # 7 windows: a last batch with rows that do not count
    results = {}
    for reduction, micro in [("token", m) for m in (6, 3, 2, 1)] + [("sample", m) for m in (6, 2, 1)]:
        spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 20, "n_head": 2, "n_positions": LENGTH,
                                               "vocab_size": 257, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
                "data": {"train": [{"path": "tokens.npy", "format": "replay", "labels": "labels.npy"}], "validation": "other.txt"},
                "train": {"train_batch_size": BATCH, "train_micro_batch_size_per_gpu": micro, "steps": STEPS, "gradient_clipping": 0.5,
                          "loss_reduction": reduction,
                          "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}}},
                "evaluation": {"every": 1}}
        with open(os.path.join(work, "model.json"), "w") as f:
            json.dump(spec, f)
        for command in (["dsc", "model.json", "-o", "plan.bin"], ["dsrun", "plan.bin", "--log=run.jsonl"],
                        ["dsc-reference", "model.json", "--log=reference.jsonl"]):
            done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
        results[reduction, micro] = [read_log(os.path.join(work, name)) for name in ("run.jsonl", "reference.jsonl")]
    counted = [sum(label != -100 for row in labels[s * BATCH:(s + 1) * BATCH] for label in row) for s in range(STEPS)]
    for one, other in zip(results["token", BATCH][1], results["sample", BATCH][1], strict=True):
        assert abs(one["grad_norm"] / other["grad_norm"] - 1) > 1e-2, (one, other)
    for (reduction, micro), (run, reference) in results.items():
        whole = results[reduction, BATCH][1]
        for lines, bound in ((run, PROMISE), (reference, 1e-12)):
            assert [line["counted_tokens"] for line in lines] == counted, (micro, lines)
            for line, wanted in zip(lines, whole, strict=True):
                for key in ("loss", "grad_norm", "eval_loss"):
                    assert abs(line[key] - wanted[key]) <= bound * abs(wanted[key]), (micro, key, line, wanted)
    print(f"{len(results)} cuts of two runs")


if __name__ == "__main__":
    main()
