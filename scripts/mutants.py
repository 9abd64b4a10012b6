"""Runs the numeric tests with one seeded fault after another; each must make one of them fail.

    mutants.py --build=DIR --minutes=N [--faults=1,2] [--page]

Faults are those of test/Faults/faults.txt, tests those of test/Faults/tests.txt, in that order; the test that noticed a fault
last time (docs/Faults.md) is tried first, and a fault's turn ends with the first test that fails. Without a fault every test
must pass, which is tried first of all. Results are kept in DIR/mutants.jsonl: a later call goes on where this one stopped,
and tries again what nothing noticed. --page prints docs/Faults.md from them. Ends with 1 if a fault was not noticed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 900  # seconds a test may take: a fault may also hang it


def read_faults():
    """Number -> (what it does, the file it is in)."""
    places = {}
    for path in sorted((ROOT / "lib").rglob("*.cpp")):
        for number in re.findall(r"DSC_FAULT\(\s*(\d+),", path.read_text()):
            places.setdefault(int(number), path.relative_to(ROOT))
    faults = {}
    for line in (ROOT / "test/Faults/faults.txt").read_text().splitlines():
        number, what = line.split(" ", 1)
        if int(number) not in places:
            sys.exit(f"fault {number} is in no file of lib/")
        faults[int(number)] = (what, places.pop(int(number)))
    if places:
        sys.exit(f"faults {sorted(places)} are not in test/Faults/faults.txt")
    return faults


def read_tests():
    lines = (ROOT / "test/Faults/tests.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def noticed_before():
    """Fault -> name of the test that noticed it, from the page."""
    page = ROOT / "docs/Faults.md"
    rows = page.read_text().splitlines() if page.exists() else []
    return {int(m[1]): m[2] for m in (re.match(r"\| (\d+) \|.*\| `([^`|]+)` \|$", row) for row in rows) if m}


def run_test(test, build, fault):
    """(whether it passed, name of what failed)."""
    words = test.split()
    work = tempfile.mkdtemp(prefix="dsc-mutant-")
    environment = dict(os.environ, DSC_FAULT=str(fault), PATH=f"{build}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    if words[0].endswith(".py"):
        command = [sys.executable, ROOT / "test/Integration" / words[0], *(word.replace("WORK", work) for word in words[1:])]
    else:
        command = [build / "test/Unit" / words[0], "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={words[1]}"]
    try:
        done = subprocess.run(command, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False, test
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if done.returncode == 0:
        return True, ""
    name = re.search(r"\[  FAILED  \] ([\w/.]+)", done.stdout)
    if fault == 0:
        print(done.stdout[-4000:])
    return False, f"{words[0]} {name[1]}" if name else test


def try_fault(fault, tests, build, first):
    """Name of the test that noticed it, or None."""
    order = ([first] if first else []) + tests
    for test in order:
        words = test.split()
        if not words[0].endswith(".py") and len(words) < 2:
            test = f"{words[0]} *"
        passed, name = run_test(test, build, fault)
        if not passed:
            return name
    return None


def page(faults, results):
    text = ["# Seeded faults", "",
            "Faults that a build with `-DDSC_FAULTS=ON` holds, and the first numeric test that notices each. Written by",
            "`scripts/mutants.sh --page` from what it ran; `scripts/mutants.sh --minutes=N` runs it again. Passes that only verify",
            "(`ds-verify-*`, `plan-verify`) compute nothing and have no fault; what they let through is tested in `test/Passes`.", "",
            "| fault | what is wrong | where | noticed by |", "|---|---|---|---|"]
    for number, (what, path) in sorted(faults.items()):
        by = results.get(number)
        text.append(f"| {number} | {what} | [{path.name}](../{path}) | {f'`{by}`' if by else '**nothing**' if number in results else 'not run'} |")
    return "\n".join(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=pathlib.Path)
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--faults", help="numbers, with commas between them (default: all)")
    p.add_argument("--page", action="store_true", help="print docs/Faults.md")
    a = p.parse_args()
    faults, tests, hints = read_faults(), read_tests(), noticed_before()
    store = a.build / "mutants.jsonl"
    results = {}
    if store.exists():
        for line in store.read_text().splitlines():
            entry = json.loads(line)
            results[entry["fault"]] = entry["noticed_by"]
    if a.page:
        print(page(faults, results))
        return
    wanted = [int(n) for n in a.faults.split(",")] if a.faults else [0, *sorted(faults)]
    end = time.monotonic() + 60 * a.minutes
    for fault in wanted:
        if not a.faults and (results.get(fault) or (fault == 0 and 0 in results)):
            continue
        if time.monotonic() > end:
            break
        start = time.monotonic()
        found = try_fault(fault, tests, a.build, hints.get(fault))
        if fault == 0 and found:
            sys.exit(f"without a fault {found} fails: mend that first")
        results[fault] = found
        with open(store, "a") as f:
            f.write(json.dumps({"fault": fault, "noticed_by": found, "seconds": round(time.monotonic() - start, 1)}) + "\n")
        what = faults[fault][0] if fault else "no fault"
        print(f"{fault}: {what}: {found or ('every test passes' if fault == 0 else 'NOT NOTICED')} "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    missed = [n for n in faults if n in results and not results[n]]
    left = [n for n in faults if n not in results]
    print(f"{len(faults) - len(missed) - len(left)} of {len(faults)} faults noticed"
          + (f", not noticed: {missed}" if missed else "") + (f", not yet run: {left}" if left else ""))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
