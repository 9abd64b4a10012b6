"""Times training steps of a GPT-2 in JAX: one jitted function a step, parameters and optimizer state donated."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import workload

args = workload.arguments(__doc__).parse_args()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

case, o = workload.load(args.case), workload.OPTIMIZER
heads, layers = case["n_head"], case["n_layer"]


def loss_of(p, ids):
    x = p["wte.weight"][ids[:, :-1]] + p["wpe.weight"][: ids.shape[1] - 1]
    b, t, d = x.shape

    def norm(x, n):
        mean = x.mean(-1, keepdims=True)
        var = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p[n + ".weight"] + p[n + ".bias"]

    affine = lambda x, n: x @ p[n + ".weight"] + p[n + ".bias"]
    for i in range(layers):
        h = f"h.{i}."
        q, k, v = (part.reshape(b, t, heads, d // heads) for part in jnp.split(affine(norm(x, h + "ln_1"), h + "attn.c_attn"), 3, -1))
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + affine(mixed.reshape(b, t, d), h + "attn.c_proj")
        x = x + affine(jax.nn.gelu(affine(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate=True), h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ p["wte.weight"].T
    picked = jnp.take_along_axis(logits, ids[:, 1:, None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def update(p, m, v, count, ids):
    loss, g = jax.value_and_grad(loss_of)(p, ids)
    norm = jnp.sqrt(sum(jnp.vdot(x, x) for x in g.values()))
    factor = jnp.minimum(1.0, workload.CLIP / norm)
    count += 1
    b1, b2 = o["betas"]
    for n in p:
        grad = g[n] * factor
        m[n] = b1 * m[n] + (1 - b1) * grad
        v[n] = b2 * v[n] + (1 - b2) * grad * grad
        step = (m[n] / (1 - b1**count)) / (jnp.sqrt(v[n] / (1 - b2**count)) + o["eps"])
        p[n] = p[n] * (1 - o["lr"] * o["weight_decay"] * (p[n].ndim > 1)) - o["lr"] * step
    return p, m, v, count, loss


p = {name: jnp.asarray(value) for name, value in workload.weights(case).items()}
m, v, count = jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.float32(0)
update = jax.jit(update, donate_argnums=(0, 1, 2, 3))
timed, losses = [], []
for step, ids in enumerate(workload.tokens(case, args.warmup + args.steps)):
    start = time.perf_counter()
    p, m, v, count, loss = update(p, m, v, count, jnp.asarray(ids))
    losses.append(float(loss))
    if step >= args.warmup:
        timed.append(time.perf_counter() - start)
workload.report("jax", case, timed, losses)
