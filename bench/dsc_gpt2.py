"""Times training steps of a GPT-2 with dsc and dsrun (from the project's build/bin)."""
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from safetensors.numpy import save_file

import workload

parser = workload.arguments(__doc__)
parser.add_argument("--isa", help="instruction set to force")
parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="a value of the spec, as for dsc")
args = parser.parse_args()
case = workload.load(args.case)
model = {key: case[key] for key in ("n_layer", "n_embd", "n_head", "n_positions", "vocab_size")}
model |= {"model_type": "gpt2", "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
o, steps = workload.OPTIMIZER, args.warmup + args.steps
binaries = workload.HERE.parent / "build" / "bin"

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "start").mkdir()
    (folder / "start" / "config.json").write_text(json.dumps(model))
    save_file(workload.weights(case), folder / "start" / "model.safetensors", metadata={"format": "pt"})
    np.save(folder / "tokens.npy", workload.tokens(case, steps))
    (folder / "model.json").write_text(json.dumps({
        "schema_version": 1, "model": "start/config.json", "init": {"from": "start"},
        "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
        "train": {"train_batch_size": case["batch"], "gradient_clipping": workload.CLIP, "steps": steps,
                  "optimizer": {"type": "AdamW", "params": o}}}))
    target = [f"--target={args.isa}"] if args.isa else []
    target += [f"--set={value}" for value in args.set]
    subprocess.run([binaries / "dsc", folder / "model.json", "-o", folder / "plan.bin", *target], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.Popen([binaries / "dsrun", folder / "plan.bin", f"--threads={args.threads}", f"--log={folder}/log.jsonl"],
                            stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(done.pid, 0)
    if status:
        raise SystemExit(f"dsrun ended with status {status}")
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
workload.report("dsc", case, [line["step_ms"] / 1e3 for line in lines[args.warmup:]], [line["loss"] for line in lines], usage.ru_maxrss / 1024)
