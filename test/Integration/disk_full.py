"""disk_full.py FOLDER: a run on a disk with room for one checkpoint and a half. Mounts a small tmpfs: call it in a
mount namespace of its own (unshare -rm).

Training goes on, the first checkpoint stays whole, the console and the events file say what happened; with more room
the run resumes and ends as if nothing had happened.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
from training_runs import Run, compile_plan, difference  # noqa: E402

work = pathlib.Path(sys.argv[1])
plan = compile_plan(work / "plan", 6, checkpoint={"keep": 1})
reference = Run(plan, work / "reference")
reference.finish()
expected = reference.outcome()
size = sum(path.stat().st_size for path in (reference.kept / "step-6").iterdir())

for asynchronous in (True, False):
    run = Run(plan, work / "small", asynchronous=asynchronous)
    room = f"size={size * 3 // 2}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", room, "none", str(run.folder)], check=True)
    output = run.finish(status=6)
    for step in range(2, 7):
        wanted = f"note: checkpoint of step {step} was not saved: cannot write '{run.kept}/step-{step}/state-"
        if wanted not in output or f"No space left on device; the newest is '{run.kept}/step-1'" not in output:
            sys.exit(f"expected {wanted}... in\n{output}")
    if run.lines() != expected["log"]:
        sys.exit(f"the log differs: {run.lines()}")
    events = [json.loads(line) for line in (run.folder / "log.events.jsonl").read_text().splitlines()]
    if [(event["step"], event["event"]) for event in events] != [(1, "checkpoint")] + [(step, "checkpoint failed") for step in range(2, 7)]:
        sys.exit(f"unexpected events {events}")
    if run.saved_steps() != [1]:
        sys.exit(f"checkpoints {run.saved_steps()}, expected the first alone")
    subprocess.run(["mount", "-o", "remount,size=100m", str(run.folder)], check=True)
    output = run.finish("--resume")
    if "resumed after step 1\n" not in output:
        sys.exit(f"not resumed from the first checkpoint:\n{output}")
    if found := difference(expected, run.outcome()):
        sys.exit(found)
    subprocess.run(["umount", str(run.folder)], check=True)
print("a full disk costs checkpoints, not the run")
