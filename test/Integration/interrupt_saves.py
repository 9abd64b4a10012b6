"""interrupt_saves.py FOLDER: a save ended at each of its system calls, by SIGKILL and by a full disk.

A run of 3 steps is continued by one step under strace, which interferes with the n-th call of one kind, for every kind
and every n that an undisturbed save has. Then it is resumed without strace and must end as if nothing had happened.
"""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
from training_runs import Run, compile_plan, difference  # noqa: E402

KINDS = ["mkdir", "openat", "write", "fsync", "fdatasync", "close", "rename", "renameat2", "unlink", "unlinkat", "rmdir",
         "ftruncate"]
work = pathlib.Path(sys.argv[1])
# Evaluated after every step, so that where a run ends early does not show in its log.
plan = compile_plan(work / "plan", 5, evaluation={"every": 1, "batches": 1}, layers=1)


def new_run(name):
    return Run(plan, work / name, asynchronous=False)


reference = new_run("reference")
reference.finish()
expected = reference.outcome()
before = new_run("before")
before.finish("--steps=3")
run = new_run("interrupted")

# What an undisturbed save calls: all from the first line that names the new checkpoint on.
run.copy_of(before)
trace = work / "trace"
run.finish("--resume", "--steps=4", before=["strace", "-f", "-o", str(trace), "-e", "trace=" + ",".join(KINDS)])
total, earlier, saving = collections.Counter(), collections.Counter(), False
for line in trace.read_text().splitlines():
    call = re.match(r"\d+ +(\w+)\(", line)
    if not call:
        continue
    saving = saving or ".tmp-step-4" in line
    total[call[1]] += 1
    if not saving:
        earlier[call[1]] += 1

cases = collections.Counter()
for kind in KINDS:
    for number in range(earlier[kind] + 1, total[kind] + 1):
        for how in ("signal=KILL", "error=ENOSPC"):
            if how == "error=ENOSPC" and kind == "close":
                continue  # what it means for a descriptor depends on the system
            run.copy_of(before)
            process = run.start("--resume", "--steps=4",
                                before=["strace", "-f", "-o", "/dev/null", "-e", f"trace={kind}", "-e",
                                        f"inject={kind}:{how}:when={number}"])
            output = process.communicate(timeout=120)[0]
            case = f"{kind} {number} of {total[kind]}, {how}"
            if how == "signal=KILL" and process.returncode in (0, 1):
                sys.exit(f"{case}: nothing was killed\n{output}")
            if how == "error=ENOSPC" and process.returncode not in (0, 6):
                sys.exit(f"{case}: ended with {process.returncode}\n{output}")
            after = run.finish("--resume")
            if "resumed after step" not in after:
                sys.exit(f"{case}: no checkpoint was left\n{after}")
            if found := difference(expected, run.outcome()):
                sys.exit(f"{case}: {found}\n{output}\n{after}")
            leftovers = [path.name for path in run.kept.iterdir() if path.name.startswith(".tmp-")]
            if leftovers:
                sys.exit(f"{case}: {leftovers} were left")
            cases[how] += 1
print(f"{cases['signal=KILL']} kills and {cases['error=ENOSPC']} full disks, one at each system call of a save")
