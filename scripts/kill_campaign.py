"""Kills a run that saves after every step, at random moments, and demands that it goes on as if nothing had happened.

A run is started, killed (SIGKILL) after a random time, resumed, killed again, and so on a few times, then left to end.
Each resumption must find the newest checkpoint or the one before; the end must equal an undisturbed run in the log (but
for times), in the final weights and in the last checkpoint, to the bit. Threads and kind of saving take turns.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "test" / "Support"))
sys.dont_write_bytecode = True
from training_runs import Run, compile_plan, difference  # noqa: E402


def fail(text):
    sys.exit("kill campaign: " + text)


def check_resumption(output, run, saved, logged, counts):
    """`saved`: steps with a checkpoint after the kill; `logged`: the last whole line of the log then."""
    found = re.search(r"^resumed after step ([0-9,]+)$", output, re.M)
    step = int(found[1].replace(",", "")) if found else 0
    if step not in (saved[-2:] or [0]):
        fail(f"the kill left checkpoints of steps {saved}, but the run resumed after step {step} "
             f"(folder {run.folder}):\n{output}")
    # Saving step n waits for the checkpoint of step n - 1 to be in place, and comes after line n: so with line n in the
    # log at the kill, step n - 2 is safe.
    if step < logged - 2:
        fail(f"the log had reached step {logged}, but the run resumed after step {step} (folder {run.folder}):\n{output}")
    counts["skipped"] += bool(saved) and step != saved[-1]
    counts[f"{logged - step} steps"] += 1


def chain(run, rng, duration, most, expected, deadline, counts):
    """One run with up to `most` kills; returns how many there were."""
    run.clear()
    kills, logged, saved = 0, 0, None
    while True:
        last = kills >= most or time.monotonic() > deadline
        process = run.start() if saved is None else run.start("--resume")
        if not last:
            left = 1 - logged / len(expected["log"])
            time.sleep(rng.uniform(0, duration * max(left, 0.05)))
            process.kill()
        output = process.communicate(timeout=600)[0]
        if saved is not None and (process.returncode == 0 or "resumed after" in output):
            check_resumption(output, run, saved, logged, counts)
        if process.returncode == 0:
            break
        if process.returncode != -9:
            fail(f"the run ended with {process.returncode}:\n{output}")
        kills += 1
        # A kill before the log was opened leaves the log of the run before.
        logged = max((line["step"] for line in run.lines()), default=0)
        saved = run.saved_steps()
    if found := difference(expected, run.outcome()):
        fail(f"after {kills} kills {found} (folder {run.folder})")
    return kills


def main():
    parser = argparse.ArgumentParser(prog="kill-campaign.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="end after so long")
    parser.add_argument("--kills", type=int, default=500, help="end after so many kills")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--steps", type=int, default=60, help="length of the run")
    parser.add_argument("--train", type=json.loads, default={}, help="JSON for the spec's `train`: {\"fp16\": ...}")
    parser.add_argument("--work", help="folder to work in (default: a temporary one)")
    options = parser.parse_args()
    work = pathlib.Path(options.work or tempfile.mkdtemp(prefix="dsc-kills-"))
    rng = random.Random(options.seed)
    plan = compile_plan(work / "plan", options.steps, train=options.train, checkpoint={"keep_best": True})
    reference = Run(plan, work / "reference")
    begin = time.monotonic()
    reference.finish()
    duration = time.monotonic() - begin
    expected = reference.outcome()
    deadline, kills, chains = begin + 60 * options.minutes, 0, 0
    counts = collections.Counter()
    while kills < options.kills and time.monotonic() < deadline:
        run = Run(plan, work / "killed", threads=1 + chains % 2, asynchronous=chains // 2 % 2 == 0)
        kills += chain(run, rng, duration, min(rng.randint(3, 12), options.kills - kills), expected, deadline, counts)
        chains += 1
    shutil.rmtree(work)
    seconds = time.monotonic() - begin
    print(f"{kills} kills in {chains} runs of {options.steps} steps, {seconds:.0f} s: "
          f"each resumed from the newest checkpoint or the one before, each ended with the same bits")
    skipped = counts.pop("skipped", 0)
    print(f"damaged checkpoints met: {skipped}; checkpoint behind the log's last line by " +
          ", ".join(f"{key}: {count} times" for key, count in sorted(counts.items())))


main()
