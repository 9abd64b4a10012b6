"""Fails unless memory of KIND falls by PERCENT or more from one dry run to another: saving.py KIND PERCENT BEFORE AFTER"""
import sys


def memory(path, kind):
    with open(path) as f:
        for line in f:
            words = line.split()
            if words[:1] == [kind]:
                return int(words[1].replace(",", ""))
    sys.exit(f"no {kind} in {path}")


kind, percent, *paths = sys.argv[1:]
before, after = (memory(path, kind) for path in paths)
saved = 100 * (before - after) / before
print(f"{kind}: from {before} to {after} bytes, {saved:.1f} % less")
sys.exit(saved < float(percent))
