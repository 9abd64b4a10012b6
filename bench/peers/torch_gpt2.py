"""Times training steps of a GPT-2 in PyTorch, eager or compiled."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import workload

parser = workload.arguments(__doc__)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(args.threads)

import torch
import torch.nn.functional as F

case = workload.load(args.case)
heads, layers = case["n_head"], case["n_layer"]


def loss_of(p, ids):
    x = F.embedding(ids[:, :-1], p["wte.weight"]) + p["wpe.weight"][: ids.shape[1] - 1]
    d = x.shape[-1]
    norm = lambda x, n: F.layer_norm(x, (d,), p[n + ".weight"], p[n + ".bias"])
    affine = lambda x, n: torch.addmm(p[n + ".bias"], x.reshape(-1, x.shape[-1]), p[n + ".weight"]).view(*x.shape[:-1], -1)
    for i in range(layers):
        h = f"h.{i}."
        q, k, v = (part.unflatten(-1, (heads, d // heads)).transpose(1, 2) for part in affine(norm(x, h + "ln_1"), h + "attn.c_attn").split(d, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + affine(mixed, h + "attn.c_proj")
        x = x + affine(F.gelu(affine(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
    logits = F.linear(norm(x, "ln_f"), p["wte.weight"])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


torch.set_num_threads(args.threads)
p = {name: torch.from_numpy(value).requires_grad_() for name, value in workload.weights(case).items()}
o = workload.OPTIMIZER
groups = [{"params": [x for x in p.values() if (x.dim() > 1) == matrix], "weight_decay": o["weight_decay"] * matrix} for matrix in (True, False)]
optimizer = torch.optim.AdamW(groups, lr=o["lr"], betas=tuple(o["betas"]), eps=o["eps"], fused=True)
step_loss = torch.compile(loss_of, dynamic=False) if args.compile else loss_of
timed, losses = [], []
for step, ids in enumerate(workload.tokens(case, args.warmup + args.steps)):
    ids = torch.from_numpy(ids).long()
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = step_loss(p, ids)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(p.values(), workload.CLIP)
    optimizer.step()
    losses.append(loss.item())
    if step >= args.warmup:
        timed.append(time.perf_counter() - start)
workload.report("torch compiled" if args.compile else "torch eager", case, timed, losses)
