"""stop_signal.py FOLDER [TRAIN]: SIGTERM and Ctrl-C at many moments, in steps and in evaluations; then --resume.

Each stop saves a checkpoint (checkpoint.every is 0) and the final weights; the resumed run equals an undisturbed one,
evaluations that a signal cut off included. TRAIN is JSON for the spec's `train`.
"""
import json
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
from training_runs import Run, compile_plan, difference  # noqa: E402

work = pathlib.Path(sys.argv[1])
# As much evaluation as training, so that signals fall into both.
plan = compile_plan(work / "plan", 150, train=json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}, checkpoint={"every": 0},
                    evaluation={"every": 2, "batches": 2})


def outcome(run):
    # No checkpoint is left by a run that nothing stops: log and weights are all there is to compare.
    files = sorted((run.kept / "final").iterdir())
    return {"log": run.lines(), **{path.name: path.read_bytes() for path in files}}


reference = Run(plan, work / "reference")
begin = time.monotonic()
reference.finish()
duration = time.monotonic() - begin
expected = outcome(reference)
rng = random.Random(1)
stops = cut = 0
while stops < 12:
    run = Run(plan, work / "stopped", threads=1 + stops % 2)
    arguments = []
    while True:
        process = run.start(*arguments)
        name = rng.choice([signal.SIGTERM, signal.SIGINT])
        time.sleep(rng.uniform(0.2, 1) * duration)
        process.send_signal(name)
        output = process.communicate(timeout=120)[0]
        if process.returncode == 0:
            break
        if process.returncode == -name:  # before dsrun listens
            continue
        if process.returncode == 128 + name and "done after" in output:  # after the last step: nothing to stop any more
            break
        if process.returncode != 128 + name or "stopped by a signal" not in output:
            sys.exit(f"ended with {process.returncode}:\n{output}")
        stops += 1
        lines = run.lines()
        if lines:
            cut += lines[-1]["step"] % 2 == 0 and "eval_loss" not in lines[-1]
            if run.saved_steps()[-1] != lines[-1]["step"]:
                sys.exit(f"stopped after step {lines[-1]['step']}, checkpoints {run.saved_steps()}:\n{output}")
        arguments = ["--resume"]
    if found := difference(expected, outcome(run)):
        sys.exit(found)
print(f"{stops} stops by a signal, {cut} of them before or in an evaluation: the same log and weights")
