"""GPT-2 training written directly in PyTorch: the independent judge of dsc-reference and dsrun.

Weights are dicts of NumPy arrays under Hugging Face names without prefix, matrices stored [in, out].
"""
import math

import numpy as np
import torch
import torch.nn.functional as F


def random_weights(config, seed):
    """Weights of a GPT-2 with every entry random, biases and gains too, so that nothing hides behind a zero."""
    rng = np.random.default_rng(seed)
    d, inner = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]
    shapes = {"wte.weight": (config["vocab_size"], d), "wpe.weight": (config["n_positions"], d)}
    for i in range(config["n_layer"]):
        h = f"h.{i}."
        shapes |= {h + "ln_1.weight": (d,), h + "ln_1.bias": (d,), h + "ln_2.weight": (d,), h + "ln_2.bias": (d,),
                   h + "attn.c_attn.weight": (d, 3 * d), h + "attn.c_attn.bias": (3 * d,),
                   h + "attn.c_proj.weight": (d, d), h + "attn.c_proj.bias": (d,),
                   h + "mlp.c_fc.weight": (d, inner), h + "mlp.c_fc.bias": (inner,),
                   h + "mlp.c_proj.weight": (inner, d), h + "mlp.c_proj.bias": (d,)}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    if not config.get("tie_word_embeddings", True):
        shapes["lm_head.weight"] = (config["vocab_size"], d)
    gains = {name for name in shapes if ".ln_" in "." + name and name.endswith("weight")}
    return {name: ((name in gains) + 0.1 * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def forward(p, config, ids):
    """Logits [batch, length, vocabulary]."""
    eps = config.get("layer_norm_epsilon", 1e-5)
    heads = config["n_head"]
    act = {"gelu_new": lambda x: F.gelu(x, approximate="tanh"), "gelu": F.gelu, "relu": F.relu}[config.get("activation_function", "gelu_new")]

    def norm(x, name):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(var + eps) * p[name + ".weight"] + p[name + ".bias"]

    def affine(x, name):
        return torch.matmul(x, p[name + ".weight"]) + p[name + ".bias"]

    batch, length = ids.shape
    mask = torch.full((length, length), -math.inf, dtype=p["wte.weight"].dtype).triu(1)
    x = F.embedding(ids, p["wte.weight"]) + p["wpe.weight"][:length]
    for i in range(config["n_layer"]):
        h = f"h.{i}."
        q, k, v = affine(norm(x, h + "ln_1"), h + "attn.c_attn").reshape(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.einsum("bhic,bhjc->bhij", q, k)
        if config.get("scale_attn_weights", True):
            scores = scores / math.sqrt(q.shape[-1])
        if config.get("scale_attn_by_inverse_layer_idx", False):
            scores = scores / (i + 1)
        mixed = torch.einsum("bhij,bhjc->bihc", (scores + mask).softmax(-1), v).reshape(batch, length, -1)
        x = x + affine(mixed, h + "attn.c_proj")
        x = x + affine(act(affine(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    head = p["lm_head.weight"] if "lm_head.weight" in p else p["wte.weight"]
    return torch.matmul(norm(x, "ln_f"), head.T)


def deepspeed_rate(kind, s, peak, total, t):
    """deepspeed/runtime/lr_schedules.py, where last_batch_iteration is the number of applied updates."""
    warmup = max(2, s.get("warmup_num_steps", 1000))
    gamma = t / warmup if s.get("warmup_type", "log") == "linear" else math.log(t + 1) / math.log(warmup)
    if kind == "WarmupCosineLR":
        least, floor = s.get("warmup_min_ratio", 0.0), s.get("cos_min_ratio", 0.0001)
        if t < warmup:
            return peak * (least + gamma * (1 - least))
        return peak * (floor + (1 - floor) * (1 + math.cos(math.pi * min(1, (t - warmup + 1) / (total - warmup)))) / 2)
    low, high = s.get("warmup_min_lr", 0.0), s.get("warmup_max_lr", peak)
    if t >= warmup:
        gamma = 1 if kind == "WarmupLR" else max(0.0, (total - t) / max(1.0, total - warmup))
    return low + (high - low) * gamma


def learning_rate(train, t):
    """Rate of applied update t (from 0); warm-up (t + 1) / W."""
    peak, schedule = train["optimizer"]["params"]["lr"], train.get("scheduler", {"type": "constant", "params": {}})
    s = schedule["params"]
    warmup, floor = s.get("warmup_steps", 0), s.get("min_lr", 0.0)
    total = s.get("total_steps", s.get("total_num_steps", train["steps"]))
    if schedule["type"].startswith("Warmup"):
        return deepspeed_rate(schedule["type"], s, peak, total, t)
    if t < warmup:
        return peak * (t + 1) / warmup
    if schedule["type"] == "constant":
        return peak
    if schedule["type"] == "inverse_sqrt":
        scale = s.get("timescale", warmup or 10000)
        return max(floor, peak * math.sqrt(scale / (t - warmup + scale)))
    if schedule["type"] == "wsd":
        warmup = max(warmup, total - s["decay_steps"])
        if t < warmup:
            return peak
    if t >= total:
        return floor
    x = (t - warmup) / (total - warmup)
    return floor + (peak - floor) * ((1 + math.cos(math.pi * x)) / 2 if schedule["type"] == "cosine" else 1 - x)


def train(weights, config, settings, tokens, labels=None, dtype=torch.float64):
    """Trains as a spec's `train` section says. Returns (log lines, final weights); tokens [steps, batch, length + 1]."""
    p = {name: torch.tensor(value, dtype=dtype, requires_grad=True) for name, value in weights.items()}
    if labels is None:
        labels = tokens[:, :, 1:]
    o = settings["optimizer"]
    b1, b2 = o["params"].get("betas", (0.9, 0.99 if o["type"] == "Lion" else 0.999))
    eps, decay, momentum = (o["params"].get(k, v) for k, v in (("eps", 1e-8), ("weight_decay", 0.0), ("momentum", 0.0)))
    decoupled = o["type"] == "AdamW" or o["params"].get("adam_w_mode", True)
    first = {n: torch.zeros_like(x) for n, x in p.items()}
    second = {n: torch.zeros_like(x) for n, x in p.items()}
    if o["type"] == "Adafactor":
        first_eps, second_eps = o["params"].get("eps", (None, 1e-3))
        adafactor = [torch.optim.Adafactor(  # the rate is set below; eps of the f32 that weights are kept in
            group, lr=0.0, beta2_decay=o["params"].get("beta2_decay", -0.8), eps=(first_eps or 2.0**-23, second_eps),
            d=o["params"].get("d", 1.0), weight_decay=own)
            for own, group in ((decay, [w for w in p.values() if w.dim() >= 2]), (0.0, [w for w in p.values() if w.dim() < 2]))]
    lines, applied = [], 0
    for step in range(settings["steps"]):
        ids = torch.from_numpy(tokens[step, :, :-1].astype(np.int64))
        wanted = torch.from_numpy(labels[step].astype(np.int64))
        counted = int((wanted != -100).sum())
        rate = learning_rate(settings, applied)
        line = {"step": step + 1, "counted_tokens": counted, "learning_rate": rate}
        lines.append(line)
        if not counted:
            lines[-1] |= {"loss": 0.0, "grad_norm": None, "skipped": "empty"}
            continue
        logp = forward(p, config, ids).log_softmax(-1)
        picked = logp.gather(-1, wanted.clamp(min=0)[..., None])[..., 0]
        smoothing = settings.get("label_smoothing", 0.0)
        wished = (1 - smoothing) * picked + smoothing * logp.mean(-1)
        losses, each = -(wished * (wanted != -100)).sum(-1), (wanted != -100).sum(-1)
        if settings.get("loss_reduction", "token") == "sample":
            loss = (losses[each > 0] / each[each > 0]).mean()
        else:
            loss = losses.sum() / counted
        grads = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
        # PyTorch's own f32 norm is off by up to 1e-3 on large gradients: sum in double.
        norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in grads.values()))
        clip = settings.get("gradient_clipping", 0.0)
        factor = min(1.0, clip / norm) if clip and norm else 1.0
        applied += 1
        if o["type"] == "Adafactor":
            for name, w in p.items():
                w.grad = grads[name] * factor
            for optimizer in adafactor:
                optimizer.param_groups[0]["lr"] = rate
                optimizer.step()
            line |= {"loss": loss.item(), "grad_norm": norm, "skipped": None}
            continue
        with torch.no_grad():
            for name, w in p.items():
                g = grads[name] * factor
                d = decay if w.dim() >= 2 else 0.0
                if o["type"] == "Lion":
                    w -= rate * (torch.sign(b1 * first[name] + (1 - b1) * g) + d * w)
                    first[name].mul_(b2).add_(g, alpha=1 - b2)
                    continue
                if o["type"] == "SGD":
                    first[name].mul_(momentum).add_(g + d * w)
                    w -= rate * first[name]
                    continue
                if o["type"] == "Lamb":
                    first[name].mul_(b1).add_(g, alpha=1 - b1)
                    second[name].mul_(b2).addcmul_(g, g, value=1 - b2)
                    u = (first[name] / (1 - b1**applied)) / ((second[name] / (1 - b2**applied)).sqrt() + eps) + d * w
                    length, step = w.double().norm(), u.double().norm()
                    ratio = float((length / step).clamp(0.01, 10)) if length > 0 and step > 0 else 1.0
                    w -= rate * ratio * u
                    continue
                if decoupled:
                    w -= rate * d * w
                else:
                    g = g + d * w
                first[name].mul_(b1).add_(g, alpha=1 - b1)
                second[name].mul_(b2).addcmul_(g, g, value=1 - b2)
                w -= rate * (first[name] / (1 - b1**applied)) / ((second[name] / (1 - b2**applied)).sqrt() + eps)
        line |= {"loss": loss.item(), "grad_norm": norm, "skipped": None}
    return lines, {name: x.detach().numpy() for name, x in p.items()}
