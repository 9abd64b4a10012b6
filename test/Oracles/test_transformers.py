"""Weights go to and come from transformers unchanged; NumPy reads and writes the same arrays."""
import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tools import BIN, compile_plan, read_log, run, write_spec


def make(folder, tied=True, **changes):
    """A GPT-2 made and saved by transformers."""
    torch.manual_seed(3)
    config = GPT2Config(n_layer=2, n_embd=48, n_head=4, n_positions=32, vocab_size=97, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, tie_word_embeddings=tied, bos_token_id=0, eos_token_id=0, **changes)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.05 * torch.randn_like(p))
    model.save_pretrained(folder)
    return model


def plan_for(folder, name, **train):
    tokens = np.random.default_rng(5).integers(0, 97, (4, 2, 25), dtype=np.int32)
    np.save(folder / "tokens.npy", tokens)
    spec = write_spec(folder, model=f"{name}/config.json", init={"from": name}, objective={"type": "causal_lm"},
                      data={"train": [{"path": "tokens.npy", "format": "replay"}]}, checkpoint={"dir": "checkpoints"},
                      train={"train_batch_size": 2, "steps": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}} | train)
    compile_plan(spec, folder / "plan.bin")
    return folder / "plan.bin"


def assert_same_logits(model, plan, folder, weights):
    ids = np.random.default_rng(6).integers(0, 97, (3, 19), dtype=np.int32)
    np.save(folder / "ids.npy", ids)
    run(BIN / "dsrun", plan, f"--logits={folder}/logits.npy", f"--input={folder}/ids.npy", f"--weights={weights}")
    ours = np.load(folder / "logits.npy")
    with torch.no_grad():
        want = model(torch.from_numpy(ids).long()).logits.numpy()
    assert ours.shape == want.shape
    assert np.abs(ours - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("tied", [True, False])
def test_import_gives_the_same_logits(tmp_path, tied):
    model = make(tmp_path / "theirs", tied)
    plan = plan_for(tmp_path, "theirs")
    assert_same_logits(model, plan, tmp_path, tmp_path / "theirs")


@pytest.mark.parametrize("tied", [True, False])
def test_export_loads_in_transformers(tmp_path, tied):
    make(tmp_path / "theirs", tied)
    plan = plan_for(tmp_path, "theirs")
    run(BIN / "dsrun", plan, f"--log={tmp_path}/log.jsonl")
    assert len(read_log(tmp_path / "log.jsonl")) == 4
    trained = GPT2LMHeadModel.from_pretrained(tmp_path / "checkpoints" / "final").eval()
    assert trained.config.tie_word_embeddings == tied
    assert_same_logits(trained, plan, tmp_path, tmp_path / "checkpoints" / "final")


@pytest.mark.parametrize("tied", [True, False])
def test_fresh_export_loads_in_transformers(tmp_path, tied):
    """Weights that never came from a file: names and configuration are the exporter's own."""
    np.save(tmp_path / "tokens.npy", np.zeros((1, 1, 9), np.int32))
    spec = write_spec(tmp_path, model={"model_type": "gpt2", "n_layer": 1, "n_embd": 16, "n_head": 2, "n_positions": 8,
                                       "vocab_size": 97, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0,
                                       "tie_word_embeddings": tied},
                      data={"train": [{"path": "tokens.npy"}]}, checkpoint={"dir": "checkpoints"},
                      train={"train_batch_size": 1, "steps": 1, "optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}})
    compile_plan(spec, tmp_path / "plan.bin")
    run(BIN / "dsrun", tmp_path / "plan.bin")
    final = tmp_path / "checkpoints" / "final"
    model, report = GPT2LMHeadModel.from_pretrained(final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    np.save(tmp_path / "ids.npy", np.arange(8, dtype=np.int32)[None])
    run(BIN / "dsrun", tmp_path / "plan.bin", f"--logits={tmp_path}/logits.npy", f"--input={tmp_path}/ids.npy")
    with torch.no_grad():
        want = model.eval()(torch.arange(8)[None]).logits.numpy()
    assert np.abs(np.load(tmp_path / "logits.npy") - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("tied", [True, False])
def test_load_and_save_keeps_every_byte(tmp_path, tied):
    make(tmp_path / "theirs", tied)
    plan = plan_for(tmp_path, "theirs")
    run(BIN / "dsrun", plan, "--steps=0", f"--save={tmp_path}/ours")
    assert (tmp_path / "ours" / "model.safetensors").read_bytes() == (tmp_path / "theirs" / "model.safetensors").read_bytes()
