"""A checkpoint's files are plain safetensors: the library of that name reads every tensor under its name and type."""
import json

import numpy as np
import torch
from safetensors import safe_open

from tools import BIN, compile_plan, run, write_spec

NAMES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32"}


def test_safetensors_reads_a_checkpoint(tmp_path):
    np.save(tmp_path / "tokens.npy", np.random.default_rng(5).integers(0, 97, (4, 2, 25), dtype=np.int32))
    spec = write_spec(tmp_path, data={"train": [{"path": "tokens.npy", "format": "replay"}]},
                      model={"model_type": "gpt2", "n_layer": 2, "n_embd": 48, "n_head": 4, "n_positions": 32, "vocab_size": 97,
                             "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0},
                      train={"train_batch_size": 2, "steps": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}},
                      checkpoint={"dir": "kept", "every": 2})
    compile_plan(spec, tmp_path / "plan.bin")
    run(BIN / "dsrun", tmp_path / "plan.bin")
    folder = tmp_path / "kept" / "step-4"
    manifest = json.loads((folder / "manifest.json").read_text())
    tensors = {}
    for file in manifest["files"]:
        assert (folder / file["name"]).stat().st_size == file["bytes"]
        with safe_open(folder / file["name"], framework="pt") as shard:
            tensors |= {name: shard.get_tensor(name) for name in shard.keys()}
    assert [(t["name"], t["dtype"], t["shape"]) for t in manifest["tensors"]] == [
        (t["name"], NAMES[tensors[t["name"]].dtype], list(tensors[t["name"]].shape)) for t in manifest["tensors"]]
    assert tensors.keys() == {t["name"] for t in manifest["tensors"]}
    assert tensors["updates"].item() == 4
    parameters = [t["name"] for t in manifest["tensors"] if t["role"] == "parameter"]
    assert {f"adam.{moment}.{name}" for name in parameters for moment in "mv"} <= tensors.keys()
    # The weights in it are those that were exported after the same step.
    with safe_open(tmp_path / "kept" / "final" / "model.safetensors", framework="pt") as final:
        for name in parameters:
            assert torch.equal(final.get_tensor("transformer." + name), tensors[name]), name
