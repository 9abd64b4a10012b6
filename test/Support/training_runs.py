"""Small real runs for the tests and scripts that stop them: a GPT-2 on generated text, saved after every step."""
import json
import pathlib
import random
import shutil
import subprocess

TIME_FIELDS = ("tokens_per_second", "step_ms")


def compile_plan(folder, steps, train=None, checkpoint=None, evaluation=None, layers=2, dropout=0):
    """Writes text and model.json into `folder`, compiles, returns the plan's path."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = random.Random(7).choices(["in", "the", "beginning", "was", "word", "and", "light", "of", "men"], k=1500)
    (folder / "text.txt").write_text(" ".join(words))
    spec = {
        "schema_version": 1,
        "model": {"model_type": "gpt2", "n_layer": layers, "n_embd": 32, "n_head": 2, "n_positions": 32, "vocab_size": 257,
                  "embd_pdrop": dropout, "attn_pdrop": dropout, "resid_pdrop": dropout},
        "data": {"train": [{"path": "text.txt", "format": "text"}], "seq_length": 32, "validation_fraction": 0.1},
        "train": {"train_batch_size": 4, "steps": steps, "gradient_clipping": 1.0,
                  "optimizer": {"type": "AdamW", "params": {"lr": 3e-3, "weight_decay": 0.1}},
                  "scheduler": {"type": "cosine", "params": {"warmup_steps": 4}}, **(train or {})},
        "evaluation": evaluation or {"every": 7, "batches": 2},
        "checkpoint": {"dir": "kept", "every": 1, "keep": 2, **(checkpoint or {})},
        "log": {"every": 1000},
    }
    (folder / "model.json").write_text(json.dumps(spec, indent=1))
    subprocess.run(["dsc", str(folder / "model.json"), "-o", str(folder / "plan.bin")], check=True)
    return folder / "plan.bin"


class Run:
    """One way through a plan: its log, its checkpoints, its final weights."""

    def __init__(self, plan, folder, threads=1, asynchronous=True, extra=()):
        self.folder = pathlib.Path(folder).absolute()
        self.log = self.folder / "log.jsonl"
        self.kept = self.folder / "kept"
        self.command = ["dsrun", str(plan), f"--threads={threads}", f"--log={self.log}",
                        "--set", f"checkpoint.dir={self.kept}",
                        "--set", f"checkpoint.async={'true' if asynchronous else 'false'}", *extra]
        self.clear()

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def copy_of(self, other):
        """Starts where `other` stands."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(other.folder, self.folder)

    def start(self, *arguments, before=(), **options):
        return subprocess.Popen([*before, *self.command, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **options)

    def finish(self, *arguments, before=(), status=0):
        """Runs to the end; returns what it printed."""
        process = self.start(*arguments, before=before)
        output = process.communicate(timeout=300)[0]
        if process.returncode != status:
            raise SystemExit(f"{' '.join(process.args)}\nended with {process.returncode}, expected {status}:\n{output}")
        return output

    def lines(self):
        """Whole lines of the log without the fields that tell the time."""
        text = self.log.read_text() if self.log.exists() else ""
        lines = [json.loads(line) for line in text.split("\n")[:-1]]
        return [{key: value for key, value in line.items() if key not in TIME_FIELDS} for line in lines]

    def saved_steps(self):
        return sorted(int(path.name[5:]) for path in self.kept.glob("step-*"))

    def outcome(self):
        """What two runs must have in common to the bit: log, final weights, the state of the last checkpoint."""
        last = self.kept / f"step-{self.saved_steps()[-1]}"
        files = sorted(last.glob("*.safetensors")) + sorted((self.kept / "final").iterdir())
        return {"log": self.lines(), **{f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}}


def difference(expected, found):
    """The first thing that differs, in words; empty when nothing does."""
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) == found.get(key):
            continue
        if key == "log":
            for one, two in zip(expected[key], found[key]):
                if one != two:
                    return f"the log differs:\n  {one}\n  {two}"
            return f"the log has {len(found[key])} lines, expected {len(expected[key])}"
        return f"{key} differs" if key in found and key in expected else f"{key} is in one of both only"
    return ""
