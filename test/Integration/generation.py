"""Generation through the caches of a plan against whole contexts.

    generation.py --work=DIR

A small model is trained a few steps, so that its logits differ. Then, in f32 and in bf16: logits of rows of ids, token by token
through the caches, against those of the whole context; greedy and drawn texts; texts longer than the context; prompts together,
alone, on other numbers of threads.
"""
import argparse
import array
import json
import os
import random
import subprocess

from paired import write_npy

LENGTH, VOCABULARY = 48, 257
PROMPTS = ["In the beginning", "And", "x", "the sea and all that is therein, and the dry land, and the rivers of it", "In the beginning"]


def run(work, *command, status=0):
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, f"{' '.join(command)} exited with {done.returncode}:\n{done.stderr.decode()}"
    return done.stdout.decode(), done.stderr.decode()


def read_floats(path):
    with open(path, "rb") as f:
        data = f.read()
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return values


def compare_logits(work, plan, bound):
    r = random.Random(5)
    rows = 6  # more than there are rows of caches
    write_npy(os.path.join(work, "ids.npy"), (rows, LENGTH), [r.randrange(VOCABULARY) for _ in range(rows * LENGTH)])
    for name, cache in (("whole", "off"), ("cached", "on")):
        run(work, "dsrun", plan, f"--logits={name}.npy", "--input=ids.npy", f"--kv-cache={cache}", "--poison-memory")
    whole, cached = (read_floats(os.path.join(work, name + ".npy")) for name in ("whole", "cached"))
    assert len(whole) == len(cached) == rows * LENGTH * VOCABULARY
    greatest = max(map(abs, whole))
    worst = max(abs(a - b) for a, b in zip(whole, cached))
    assert worst <= bound * greatest, (plan, worst, greatest)
    return worst / greatest


def generate(work, plan, prompts, *flags):
    return run(work, "dsrun", plan, *(f"--generate={p}" for p in prompts), *flags)[0]


def compare_texts(work, plan):
    for flags in (["--temperature=0"], ["--seed=7", "--top-k=20", "--top-p=0.9", "--repetition-penalty=1.2"]):
        flags.append("--max-new-tokens=20")
        alone = [generate(work, plan, [p], *flags) for p in PROMPTS]
        for p, text in zip(PROMPTS, alone):
            assert text.startswith(p) and len(text) > len(p), text
        together = "".join(f"== {i + 1} ==\n{text}" for i, text in enumerate(alone))
        for more in (["--threads=1"], ["--threads=3", "--poison-memory"]):
            assert generate(work, plan, PROMPTS, *flags, *more) == together, flags + more
        with open(os.path.join(work, "prompts.txt"), "w", newline="") as f:
            f.write("\ufeff" + "\r\n\n".join(PROMPTS))
        assert run(work, "dsrun", plan, "--prompts=prompts.txt", *flags)[0] == together
    # Through the caches and without them: greedy, from short and long prompts, past the end of the context.
    for count in (25, 3 * LENGTH):
        greedy = ["--temperature=0", f"--max-new-tokens={count}"]
        assert generate(work, plan, PROMPTS, *greedy) == generate(work, plan, PROMPTS, *greedy, "--kv-cache=off"), count


def compare_ends(work, plan):
    flags = ["--generate=And", "--max-new-tokens=500", "--temperature=0"]
    _, note = run(work, "dsrun", plan, *flags)
    assert f"the text fills the context of {LENGTH} tokens: whenever it is full the last {LENGTH // 2} go on" in note, note
    text, note = run(work, "dsrun", plan, *flags, "--when-full=stop")
    # The token after a full context is drawn, and then there is no room to go on.
    assert f"the text ends after {LENGTH - 2} new tokens: the context of {LENGTH} is full" in note, note
    assert len(text.encode()) >= LENGTH, text
    _, note = run(work, "dsrun", plan, "--generate=" + "a" * (LENGTH + 1), "--when-full=stop", status=1)
    assert f"the prompt of the text has {LENGTH + 1} tokens, the context {LENGTH} (data.seq_length)" in note, note
    run(work, "dsrun", plan, "--generate=" + "a" * (LENGTH + 1), "--max-new-tokens=1")
    assert generate(work, plan, ["none"], "--max-new-tokens=0") == "none\n"
    assert generate(work, plan, ["[a, b]"], "--max-new-tokens=0") == "[a, b]\n"
    _, note = run(work, "dsrun", plan, "--prompts=empty.txt", status=1)
    assert "empty.txt has no line with a prompt" in note, note


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True)
    work = p.parse_args().work
    r = random.Random(3)
    words = ["the ", "and ", "sea ", "land ", "of ", "In ", "beginning ", "was ", "\n"]
    with open(os.path.join(work, "a.txt"), "w") as f:
        f.write("".join(r.choice(words) for _ in range(3000)))
    open(os.path.join(work, "empty.txt"), "w").close()
    spec = {"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 36, "n_head": 3, "n_positions": LENGTH,
                                           "vocab_size": VOCABULARY, "initializer_range": 0.2, "resid_pdrop": 0, "embd_pdrop": 0,
                                           "attn_pdrop": 0},
            "data": {"train": "a.txt"}, "checkpoint": {"dir": "checkpoints"},
            "train": {"train_batch_size": 2, "steps": 12, "optimizer": {"params": {"lr": 3e-3}}}}
    with open(os.path.join(work, "model.json"), "w") as f:
        json.dump(spec, f)
    # Sums of up to 144 products and 48 probabilities in two layers; bf16 rounds both ways alike, but at other values.
    for name, flags, bound in (("f32", [], 5e-6), ("bf16", ["--set", "train.bf16.enabled=true"], 0.03)):
        run(work, "dsc", "model.json", "-o", name + ".bin", *flags)
        run(work, "dsrun", name + ".bin")
        worst = compare_logits(work, name + ".bin", bound)
        print(f"{name}: logits through the caches differ by {worst:.1e} of the greatest")
        if name == "f32":
            compare_texts(work, name + ".bin")
            compare_ends(work, name + ".bin")
    # Without caches in the plan all is computed from whole contexts.
    greedy = ["--temperature=0", "--max-new-tokens=9"]
    run(work, "dsc", "model.json", "-o", "none.bin", "--set", "generation.batch=0")
    run(work, "dsrun", "f32.bin")
    assert generate(work, "none.bin", PROMPTS, *greedy) == generate(work, "f32.bin", PROMPTS, *greedy)
    _, note = run(work, "dsrun", "none.bin", "--logits=x.npy", "--input=ids.npy", "--kv-cache=on", status=6)
    assert "the plan has no program 'prefill'" in note, note


if __name__ == "__main__":
    main()
