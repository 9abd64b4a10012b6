"""One run under several layouts, each resumed from the checkpoint of the one before: resume.py --work=DIR

Weights at the end, and the log of the last part, are those of a run on one device (`reproducible: "layout"`). Needs dsc and dsrun in
PATH, and nothing but Python's own library.
"""
import argparse
import json
import os
import sys

from layouts import Runner

PARTS = [{"data": 4, "zero": 1}, {"data": 1, "zero": 0}, {"data": 2, "zero": 3}]
STEPS = 6


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    runner = Runner(work, "")
    case = {"data": 4, "tensor": 1, "pipeline": 1, "zero": 0, "accumulation": 1, "bucket": 1 << 25, "precision": "fp16", "dropout": 0.2,
            "tied": True, "optimizer": "AdamW", "shape": "even"}
    with open(os.path.join(work, "text.txt"), "w") as f:
        f.write("".join(f"{i} times {i} is {i * i}.\n" for i in range(200)))

    def spec(part):
        full = runner.spec(case | part, alone=part["data"] == 1)
        full["data"] = {"train": "text.txt", "seq_length": 13}
        full["model"]["vocab_size"] = 257
        full["train"] |= {"train_batch_size": 4, "steps": STEPS}
        full["checkpoint"] = {"dir": "kept", "every": 1, "keep": 9}
        return full

    def run(name, part, folder, *more):
        with open(os.path.join(work, name + ".json"), "w") as f:
            json.dump(spec(part), f)
        runner.run("dsc", name + ".json", "-o", name + ".bin")
        return runner.run("dsrun", name + ".bin", "--set", f"checkpoint.dir={os.path.join(os.path.abspath(work), folder)}", *more)

    def weights(folder):
        with open(os.path.join(work, folder, "final/model.safetensors"), "rb") as f:
            return f.read()

    run("one", {"data": 1, "zero": 0}, "alone")
    for index, part in enumerate(PARTS):
        text = run(f"part{index}", part, "changing", f"--steps={2 * index + 2}", *(["--resume"] if index else []))
        if index and f"resumed after step {2 * index}" not in text:
            sys.exit(f"part {index} did not resume:\n{text}")
    same = weights("alone") == weights("changing")
    print("steps 1 to 2 on 4 ranks with ZeRO-1, 3 to 4 on 1, 5 to 6 on 2 with ZeRO-3: " + ("as one device" if same else "weights differ"))
    sys.exit(not same)


if __name__ == "__main__":
    main()
