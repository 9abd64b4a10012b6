"""Runs this project's programs on specs and weights written by the tests."""
import json
import pathlib
import subprocess

from safetensors.numpy import load_file, save_file

BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"


def run(*arguments, check=True):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=900)
    assert not check or done.returncode == 0, f"{arguments}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def compile_plan(spec, plan):
    """Most specs here have kernels in common, and compiling them is most of the time."""
    run(BIN / "dsc", spec, "-o", plan, f"--kernel-cache={BIN.parent}/test/oracle-kernels")


def write_model(folder, config, weights, prefix=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({prefix + name: value for name, value in weights.items()}, folder / "model.safetensors", metadata={"format": "pt"})


def write_spec(folder, **sections):
    path = folder / "model.json"
    path.write_text(json.dumps({"schema_version": 1} | sections, indent=1))
    return path


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_weights(folder):
    return {name.removeprefix("transformer."): value for name, value in load_file(folder / "model.safetensors").items()}
