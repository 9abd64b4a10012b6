"""kill_and_resume.py FOLDER [TRAIN [DROPOUT]]: ten steps against k steps, SIGKILL, resume, for every k from 0 to 9.

TRAIN is JSON for the spec's `train`. strace kills the run as the checkpoint of step k + 1 is about to get its name:
step k + 1 is in the log, its state is lost.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
from training_runs import Run, compile_plan, difference  # noqa: E402

work = pathlib.Path(sys.argv[1])
plan = compile_plan(work / "plan", 10, train=json.loads(sys.argv[2]) if len(sys.argv) > 2 else {},
                    checkpoint={"keep": 20}, evaluation={"every": 4, "batches": 2},
                    dropout=float(sys.argv[3]) if len(sys.argv) > 3 else 0)
reference = Run(plan, work / "reference")
reference.finish()
expected = reference.outcome()
rates = [line["learning_rate"] for line in expected["log"]]
skips = sum(line["skipped"] is not None for line in expected["log"])  # the rate stands still where a step is skipped
assert len(set(rates)) >= 7 - skips >= 4, rates  # a schedule that starts again would show

for asynchronous, threads in ((True, 1), (False, 2)):
    for k in range(10):
        run = Run(plan, work / "killed", threads=threads, asynchronous=asynchronous)
        process = run.start(before=["strace", "-f", "-o", "/dev/null", "-e", "trace=rename", "-e",
                                    f"inject=rename:signal=KILL:when={k + 1}"])
        output = process.communicate(timeout=120)[0]
        case = f"k {k}, threads {threads}, {'asynchronous' if asynchronous else 'synchronous'}"
        if process.returncode == 0 or run.saved_steps() != list(range(1, k + 1)):
            sys.exit(f"{case}: expected a kill with checkpoints up to {k}, found {run.saved_steps()}\n{output}")
        run.command[2] = f"--threads={3 - threads}"
        output = run.finish("--resume")
        if (f"resumed after step {k}" if k else "the run starts afresh") not in output:
            sys.exit(f"{case}: not resumed after step {k}\n{output}")
        if found := difference(expected, run.outcome()):
            sys.exit(f"{case}: {found}")
        if [line["learning_rate"] for line in run.lines()] != rates:
            sys.exit(f"{case}: the learning rates differ")
print("every k from 0 to 9, threads 1 and 2, both kinds of saving: the same log, checkpoints and weights")
