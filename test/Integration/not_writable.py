"""not_writable.py FOLDER: runs that are told to write where nothing can be. Mounts a read-only tmpfs: call it in a mount
namespace of its own (unshare -rm)."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
from training_runs import compile_plan  # noqa: E402

work = pathlib.Path(sys.argv[1])
plan = compile_plan(work / "plan", 6)
closed = work / "closed"
closed.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "none", str(closed)], check=True)

CASES = [  # arguments of dsrun, exit code, what the message names
    (["--set", f"log.dir={closed}"], 1, f"{closed}/log.jsonl"),
    (["--set", f"log.dir={closed}/deep"], 1, f"{closed}/deep"),
    ([f"--log={closed}/run.jsonl"], 1, f"{closed}/run.jsonl"),
    ([f"--log={closed}"], 1, str(closed)),
    ([f"--digest={closed}/digest"], 1, f"{closed}/digest"),
    ([f"--profile={closed}/trace.json"], 1, f"{closed}/trace.json"),
    ([f"--save={closed}/weights"], 1, "the final weights could not be saved"),
    ([f"--save={closed}/deep/weights"], 1, f"{closed}/deep"),
    (["--set", f"checkpoint.dir={closed}"], 6, "checkpoints cannot be kept"),
]
for arguments, code, named in CASES:
    done = subprocess.run(["dsrun", plan, *arguments], capture_output=True, text=True)
    reasons = ("Read-only file system", "Is a directory")
    if done.returncode != code or named not in done.stderr or not any(reason in done.stderr for reason in reasons):
        sys.exit(f"{arguments}: exit {done.returncode}, expected {code} and '{named}' in\n{done.stderr}")
    if "step 1/" in done.stdout:
        sys.exit(f"{arguments}: trained first\n{done.stdout}")
subprocess.run(["dsrun", plan, "--set", f"log.dir={work}/log", "--steps=1"], check=True, stdout=subprocess.DEVNULL)
model = plan.parent / "model.json"
for command in (["dsc", model, "-o", closed / "plan.bin"], ["dsc-report", work / "log", "-o", closed / "run.html"]):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 1 or "Read-only file system" not in done.stderr:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr}")
print(f"{len(CASES) + 2} places that cannot be written, each known in time")
