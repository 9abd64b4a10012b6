"""Paired runs of random small specs: float64 reference, and compiled plan under several conditions.

    paired.py --work=DIR --seeds=1-3 [--precision=fp16|bf16]

For each seed a spec is drawn: sizes that are no multiple of a tile, head, activation, optimizer, schedule, clipping,
uncounted labels, an empty window, micro-batches, a loss scale, the mean over samples. Then
- dsrun's log against dsc-reference's: every field that is exact (step, updates, tokens, skipped) equal, learning rate to
  1e-15 relative, loss and gradient norm to 2e-6 relative: 32 unit roundoffs of f32, what the project promises over 20 steps;
- dsrun with 1 and 2 threads and with --poison-memory: logs and weights equal to the bit.
With a precision both compute in it: the reference rounds where the plan stores two bytes. An error of f32 that pushes an
element over a tie changes it by a unit in its last place. Such elements are few and of both signs: losses agree to
one unit of the type (MIXED_PROMISE), relative. Where a gradient is a few units from 0, Adam turns the flip into a
whole step of that weight, so gradient norms, which see it in the next step, are given four units.
Needs dsc, dsrun and dsc-reference in PATH, and nothing but Python's own library.
"""
import argparse
import array
import json
import os
import random
import subprocess

STEPS = 5
PROMISE = 2e-6
MIXED_PROMISE = {"fp16": 2 ** -11, "bf16": 2 ** -8}
TIMES = ("tokens_per_second", "step_ms")  # the two keys that may differ between equal runs


def write_npy(path, shape, values):
    """int32 array in C order, format version 1.0."""
    header = repr({"descr": "<i4", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + array.array("i", values).tobytes())


def draw_optimizer(r):
    if r.random() < 0.25:
        return {"type": "Lamb", "params": {"lr": 0.01, "weight_decay": r.choice([0, 0.1]), "max_coeff": r.choice([1, 10])}}
    if r.random() < 0.2:
        params = {"lr": 0.01, "weight_decay": r.choice([0, 0.1]), "d": r.choice([1, 2])}
        return {"type": "Adafactor", "params": params | r.choice([{}, {"eps": [1e-6, 0.01], "beta2_decay": -0.5}])}
    if r.random() < 0.3:
        params = {"lr": 0.05, "momentum": r.choice([0, 0.9]), "weight_decay": r.choice([0, 0.01])}
        params["nesterov"] = params["momentum"] > 0 and r.random() < 0.5
        return {"type": "SGD", "params": params}
    params = {"lr": 1e-3, "betas": [0.9, r.choice([0.95, 0.999])], "eps": 1e-8, "weight_decay": r.choice([0, 0.1])}
    if r.random() < 0.4:
        return {"type": "Adam", "params": params | {"adam_w_mode": r.random() < 0.5}}
    return {"type": "AdamW", "params": params}


def draw_spec(r, folder):
    """Writes model.json and its data; returns the spec."""
    # Widths of a few elements are left out: their normalisation leaves next to nothing, gradients are what remains when
    # larger terms cancel, and no relative bound holds.
    heads, size = r.choice([(h, s) for h in range(1, 6) for s in (1, 3, 7, 8, 12, 17) if h * s >= 12])
    width = heads * size
    length, batch, vocabulary = r.randint(1, 40), r.randint(1, 5), r.randint(2, 300)
    model = {"model_type": "gpt2", "n_layer": r.randint(1, 3), "n_embd": width, "n_head": heads,
             "n_positions": length + r.choice([0, 1, 11]), "vocab_size": vocabulary,
             "n_inner": r.choice([None, r.randint(1, 150)]), "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0,
             "activation_function": r.choice(["gelu_new", "gelu", "relu"]),
             "tie_word_embeddings": r.random() < 0.5, "initializer_range": r.choice([0.02, 0.1]),
             "scale_attn_weights": r.random() < 0.8, "scale_attn_by_inverse_layer_idx": r.random() < 0.2}
    tokens = [[r.randrange(vocabulary) for _ in range(length + 1)] for _ in range(STEPS * batch)]
    write_npy(os.path.join(folder, "tokens.npy"), (STEPS, batch, length + 1), sum(tokens, []))
    data = {"path": "tokens.npy", "format": "replay"}
    if r.random() < 0.5:
        uncounted = r.choice([0.1, 0.6])
        labels = [[-100 if r.random() < uncounted else token for token in row[1:]] for row in tokens]
        if r.random() < 0.5:  # one window with nothing to learn from
            labels[batch:2 * batch] = [[-100] * length] * batch
        write_npy(os.path.join(folder, "labels.npy"), (STEPS, batch, length), sum(labels, []))
        data["labels"] = "labels.npy"
    schedule = {"type": r.choice(["constant", "linear", "cosine"]), "params": {"warmup_steps": r.randint(0, 3)}}
    if schedule["type"] != "constant":
        schedule["params"] |= {"total_steps": STEPS, "min_lr": r.choice([0, 1e-4])}
    spec = {"schema_version": 1, "model": model, "init": {"seed": r.randrange(1000)}, "data": {"train": [data]},
            "train": {"train_batch_size": batch, "steps": STEPS, "gradient_clipping": r.choice([0, 0.5]),
                      "optimizer": draw_optimizer(r), "scheduler": schedule}}
    if r.random() < 0.5:
        for key in ("embd_pdrop", "attn_pdrop", "resid_pdrop"):
            model[key] = r.choice([0, 0.1, 0.5])
        spec["train"]["seed"] = r.randrange(1 << 64)
    if r.random() < 0.4:
        spec["train"]["param_groups"] = r.sample([
            {"match": "w?e.weight", "frozen": True}, {"match": "h.0.ln_*", "lr_scale": 0.1},
            {"match": "*.bias", "weight_decay": 0.1}, {"match": "*.mlp.*", "lr_scale": 2, "weight_decay": 0.2}], 2)
    if r.random() < 0.2:
        spec["train"] |= {"gradient_clipping": 0, "gradient_clipping_value": 0.01}
    if r.random() < 0.4:
        spec["train"]["scheduler"] = r.choice([
            {"type": "inverse_sqrt", "params": {"warmup_steps": 2, "min_lr": 1e-5}},
            {"type": "wsd", "params": {"warmup_steps": 1, "decay_steps": 3, "min_lr": 1e-5}},
            {"type": "WarmupLR", "params": {"warmup_num_steps": 3, "warmup_type": "linear"}},
            {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 2, "warmup_min_lr": 1e-5}},
            {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 3, "warmup_min_ratio": 0.1}}])
    if r.random() < 0.5:
        spec["objective"] = {"label_smoothing": r.choice([0.1, 0.5])}
    parts = r.choice([k for k in range(1, batch + 1) if batch % k == 0])
    if parts > 1 and r.random() < 0.8:
        spec["train"]["gradient_accumulation_steps"] = parts
    if r.random() < 0.3:
        spec["train"] |= {"loss_scaling": True, "fp16": {"initial_scale_power": r.randint(0, 20), "loss_scale_window": r.randint(1, 4),
                                                         "loss_scale": r.choice([0, 0, 128, 1000])}}
    if r.random() < 0.3:
        spec["train"]["loss_reduction"] = "sample"
    with open(os.path.join(folder, "model.json"), "w") as f:
        json.dump(spec, f, indent=1)
    return spec


def run(folder, *command):
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)} in {folder} exited with {result.returncode}:\n{result.stdout}")


def read_log(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def relative(a, b):
    return 0 if a == b else abs(a - b) / max(abs(a), abs(b))


def compare_with_reference(folder, promise):
    """The worst relative differences of loss and gradient norm."""
    plan, reference = read_log(os.path.join(folder, "plan.jsonl")), read_log(os.path.join(folder, "reference.jsonl"))
    assert len(plan) == len(reference) == STEPS, (len(plan), len(reference))
    worst = {"loss": 0.0, "grad_norm": 0.0}
    for got, wanted in zip(plan, reference):
        where = f"{folder} step {wanted['step']}: {got} against {wanted}"
        assert got.keys() == wanted.keys(), where
        for key in ("step", "updates", "tokens", "counted_tokens", "skipped", "loss_scale"):
            assert got.get(key) == wanted.get(key), where
        assert relative(got["learning_rate"], wanted["learning_rate"]) <= 1e-15, where
        for key in worst:
            assert (got[key] is None) == (wanted[key] is None), where
            if got[key] is not None:
                worst[key] = max(worst[key], relative(got[key], wanted[key]))
                assert worst[key] <= promise[key], f"{key} is off by {worst[key]:.2g} relative: {where}"
    return worst


def check_bits(folder):
    """The plan under other conditions: nothing but the times may change."""
    timeless = lambda path: [{k: v for k, v in line.items() if k not in TIMES} for line in read_log(path)]
    log, weights = timeless(os.path.join(folder, "plan.jsonl")), read_bytes(os.path.join(folder, "plan/model.safetensors"))
    for name, flags in (("again", ["--threads=1"]), ("two", ["--threads=2"]), ("poison", ["--threads=2", "--poison-memory"])):
        run(folder, "dsrun", "plan.bin", f"--log={name}.jsonl", f"--save={name}", *flags)
        assert timeless(os.path.join(folder, name + ".jsonl")) == log, f"{folder}: the log differs with {flags}"
        assert read_bytes(os.path.join(folder, name, "model.safetensors")) == weights, f"{folder}: weights differ with {flags}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", required=True, help="folder to work in")
    p.add_argument("--seeds", default="1-3", help="first-last")
    p.add_argument("--precision", choices=MIXED_PROMISE, help="default: f32")
    a = p.parse_args()
    promise = {"loss": PROMISE, "grad_norm": PROMISE}
    if a.precision:
        promise = {"loss": MIXED_PROMISE[a.precision], "grad_norm": 4 * MIXED_PROMISE[a.precision]}
    first, last = map(int, a.seeds.split("-"))
    for seed in range(first, last + 1):
        folder = os.path.join(a.work, str(seed))
        os.makedirs(folder, exist_ok=True)
        spec = draw_spec(random.Random(seed), folder)
        if a.precision:
            spec["train"][a.precision] = {"enabled": True}
            with open(os.path.join(folder, "model.json"), "w") as f:
                json.dump(spec, f, indent=1)
        run(folder, "dsc", "model.json", "-o", "plan.bin")
        run(folder, "dsrun", "plan.bin", "--log=plan.jsonl", "--save=plan", "--threads=1")
        run(folder, "dsc-reference", "model.json", "--log=reference.jsonl")
        worst = compare_with_reference(folder, promise)
        check_bits(folder)
        model = spec["model"]
        print(f"seed {seed}: {model['n_layer']} x {model['n_embd']}, {spec['train']['optimizer']['type']}: "
              f"loss within {worst['loss']:.1e}, grad_norm within {worst['grad_norm']:.1e}")
    print(f"{last - first + 1} specs agree")


if __name__ == "__main__":
    main()
