"""TensorBoard's own reader on event files that are being written, and after a resumption."""
import json
import signal
import subprocess
import time

import pytest

from tools import BIN, compile_plan, run

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")

STEPS = 150


def plan_in(folder):
    (folder / "text.txt").write_text("".join(chr(97 + i * i % 26) for i in range(4000)))
    spec = {"schema_version": 1,
            "model": {"n_layer": 1, "n_embd": 32, "n_head": 2, "n_positions": 16, "vocab_size": 257},
            "data": {"train": "text.txt", "validation_fraction": 0.1},
            "train": {"train_batch_size": 8, "steps": STEPS, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
                      "fp16": {"enabled": True}},
            "evaluation": {"every": 25},
            "checkpoint": {"dir": "kept", "every": 10},
            "log": {"dir": "log", "every": 1, "tensorboard": True}}
    (folder / "model.json").write_text(json.dumps(spec))
    compile_plan(folder / "model.json", folder / "plan.bin")
    return folder / "plan.bin"


def read(folder):
    """What TensorBoard shows of a folder: steps by tag."""
    events = accumulator.EventAccumulator(str(folder), size_guidance={accumulator.SCALARS: 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tb_01_every_prefix_of_whole_records_is_read_while_a_run_writes(tmp_path):
    plan = plan_in(tmp_path)
    process = subprocess.Popen([BIN / "dsrun", plan, "--threads=1"], stdout=subprocess.DEVNULL)
    seen = []
    try:
        while process.poll() is None:
            if (tmp_path / "log").exists() and list((tmp_path / "log").glob("events.*")):
                losses = read(tmp_path / "log").get("train/loss", [])
                assert [step for step, _ in losses] == list(range(1, len(losses) + 1))
                seen.append(len(losses))
            time.sleep(0.02)
    finally:
        process.wait()
    assert process.returncode == 0 and any(0 < count < STEPS for count in seen), seen

    log = [json.loads(line) for line in (tmp_path / "log" / "log.jsonl").read_text().splitlines()]
    curves = read(tmp_path / "log")
    for tag, key in {"train/loss": "loss", "train/learning_rate": "learning_rate", "train/grad_norm": "grad_norm",
                     "train/loss_scale": "loss_scale", "train/tokens_per_second": "tokens_per_second",
                     "eval/loss": "eval_loss", "eval/perplexity": "eval_perplexity",
                     "eval/bits_per_byte": "eval_bits_per_byte"}.items():
        wanted = [(line["step"], line[key]) for line in log if line.get(key) is not None]
        assert [step for step, _ in curves[tag]] == [step for step, _ in wanted], tag
        assert [value for _, value in curves[tag]] == pytest.approx([value for _, value in wanted], rel=1e-6), tag
    assert {"memory/resident_bytes", "memory/peak_bytes"} <= curves.keys()
    # The checksums are looked at: one flipped bit ends the file for the reader.
    path = next((tmp_path / "log").glob("events.*"))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert len(read(tmp_path / "log")["train/loss"]) < STEPS


def test_tb_02_a_resumed_run_has_one_value_a_step(tmp_path):
    plan = plan_in(tmp_path)
    process = subprocess.Popen([BIN / "dsrun", plan, "--threads=1"], stdout=subprocess.DEVNULL)
    log = tmp_path / "log" / "log.jsonl"
    while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 57):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run(BIN / "dsrun", plan, "--threads=1", "--resume")
    assert "resumed after step" in done.stdout
    assert len(list((tmp_path / "log").glob("events.*"))) == 2
    for tag, values in read(tmp_path / "log").items():
        steps = [step for step, _ in values]
        assert steps == sorted(set(steps)), tag
    assert [step for step, _ in read(tmp_path / "log")["train/loss"]] == list(range(1, STEPS + 1))
