"""Stops or kills ranks at moments drawn by seed, and looks whether the others end in time and name them.

stop_ranks.py FAULTS SEED MPIRUN... : FAULTS times, 2 to 6 ranks of comm-conformance --loop. Stopped: all others exit 5 within the
timeout, the message names the rank; killed: the launcher ends them, and on SIGTERM each says what it is at. No process stays.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

TIMEOUT = 4  # seconds that ranks wait
GRACE = 20  # for the launcher to start, notice, and end all


def run(ranks, victim, kill, delay, mpirun):
    # The launcher waits so long between SIGTERM, on which the others say what they are at, and SIGKILL.
    patience = ["--mca", "odls_base_sigkill_timeout", "4"] if kill else []
    job = subprocess.Popen([*mpirun, *patience, "-n", str(ranks), "comm-conformance", "--loop", f"--timeout={TIMEOUT if not kill else 60}"],
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    pids, lines = {}, []
    while len(pids) < ranks:
        line = job.stderr.readline()
        if not line:
            return f"the launcher ended early: {lines}"
        lines.append(line)
        if match := re.match(r"rank (\d+) is process (\d+)", line):
            pids[int(match[1])] = int(match[2])
    time.sleep(delay)
    start = time.monotonic()
    os.kill(pids[victim], signal.SIGKILL if kill else signal.SIGSTOP)
    try:
        text = "".join(lines) + job.communicate(timeout=TIMEOUT + GRACE)[1]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return "the job does not end:\n" + "".join(lines) + job.communicate()[1]
    seconds = time.monotonic() - start
    # Init takes them from the table a moment after the launcher is gone.
    left, until = list(pids.values()), time.monotonic() + 5
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
    if left:
        return f"processes {left} are left:\n{text}"
    if kill:
        said = [r for r in range(ranks) if r != victim and re.search(rf"^rank {r} (is|was last) at ", text, re.M)]
        if job.returncode != 128 + signal.SIGKILL or len(said) != ranks - 1:
            return f"exit code {job.returncode}, ranks {said} say what they are at:\n{text}"
        return None
    blamed = re.findall(r"^rank (\d+) ends: (.*)", text, re.M)
    wrong = [line for line in blamed
             if int(line[0]) != victim and not re.match(rf"rank {victim} never (reached|ended) ", line[1])]
    if job.returncode != 5 or not blamed or wrong:
        return f"exit code {job.returncode}, {seconds:.1f} s, rank {victim} was stopped:\n{text}"
    return None


def main():
    count, seed, mpirun = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    random.seed(seed)
    for i in range(count):
        ranks = random.randint(2, 6)
        victim, kill, delay = random.randrange(ranks), random.random() < 0.3, random.uniform(0, 0.5)
        problem = run(ranks, victim, kill, delay, mpirun)
        if problem:
            sys.exit(f"fault {i} of seed {seed}: {'kill' if kill else 'stop'} rank {victim} of {ranks} after {delay:.3f} s: {problem}")
    print(f"{count} faults, each named")


main()
