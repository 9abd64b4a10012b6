"""Good and broken traces for check-trace.py. broken_traces.py CHECKER FOLDER"""
import json
import pathlib
import subprocess
import sys

checker, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)


def event(phase, ts, name="a", tid=0, **more):
    return {"ph": phase, "pid": 1, "tid": tid, "ts": ts, "name": name} | more


def X(ts, dur, name="a", tid=0):
    return event("X", ts, name, tid, dur=dur)


def run(text):
    path = folder / "trace.json"
    path.write_text(text if isinstance(text, str) else json.dumps({"traceEvents": text}))
    done = subprocess.run([sys.executable, checker, path], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


GOOD = [
    [X(0, 10), X(0, 4, "b"), X(4, 6, "c"), X(5, 0, "d"), X(10, 1)],
    [event("B", 0), X(1, 2, "b"), event("B", 4, "c"), event("E", 5, "c"), event("E", 6), X(6, 1)],
    [X(0, 10, tid=0), event("s", 2, id=1), X(1, 4, tid=1), event("f", 3, tid=1, id=1)],
    [{"ph": "M", "name": "process_name", "args": {}}, X(0.001, 0.002), X(0.003, 0.001)],
]
BROKEN = [
    ("no json", "{", "Expecting"),
    ("no events", "{}", "there is no list of events"),
    ("time falls", [X(5, 1), X(4, 1)], "time falls in thread 0: 4000 ns after 5000 ns"),
    ("overlap", [X(0, 5), X(3, 4, "b")], "'b' ends at 7000 ns, 'a', in which it begins, at 5000 ns"),
    ("overlap by a nanosecond", [X(0, 5), X(3, 2.001, "b")], "'b' ends at 5001 ns"),
    ("overlap of a grandchild", [X(0, 9), X(1, 4, "b"), X(2, 4, "c")], "'c' ends at 6000 ns, 'b'"),
    ("negative duration", [X(0, -1)], "its duration 'dur' is -1"),
    ("no duration", [event("X", 0)], "its duration 'dur' is None"),
    ("time that is none", [X("1", 1)], "its time 'ts' is 1"),
    ("begin without end", [event("B", 0)], "thread 0: 'a' begins and does not end"),
    ("end without begin", [event("E", 0)], "an end without a begin"),
    ("end of another", [event("B", 0), event("B", 1, "b"), event("E", 2), event("E", 3, "b")], "the end of 'a' where 'b' is open"),
    ("end inside a slice", [event("B", 0), X(1, 5, "b"), event("E", 3)], "an end inside 'b', which is not over"),
    ("end in another thread", [event("B", 0), event("E", 1, tid=1)], "an end without a begin"),
    ("flow without end", [X(0, 5), event("s", 1, id=7)], "flow 7: it has 1 starts and 0 ends"),
    ("flow with two ends", [X(0, 5), event("s", 1, id=7), event("f", 2, id=7), event("f", 3, id=7)], "flow 7: it has 1 starts and 2 ends"),
    ("flow backwards", [X(0, 5), event("f", 1, id=7), event("s", 2, id=7)], "flow 7: it ends at 1000 ns, before its start at 2000 ns"),
    ("flow into nothing", [X(0, 5), event("s", 1, id=7), X(0, 1, tid=1), event("f", 3, tid=1, id=7)], "where there is no slice"),
    ("no name", [{"ph": "X", "pid": 1, "tid": 0, "ts": 0, "dur": 1}], "it has no name"),
    ("no thread", [{"ph": "X", "name": "a", "ts": 0, "dur": 1}], "it has no 'pid' and 'tid'"),
    ("unknown phase", [event("Z", 0)], "phase 'Z' is unknown here"),
    ("no object", [7], "it is no object"),
]
for events in GOOD:
    code, output = run(events)
    if code:
        sys.exit(f"refused: {events}\n{output}")
for name, events, message in BROKEN:
    code, output = run(events)
    if code != 1 or message not in output or "Traceback" in output:
        sys.exit(f"{name}: exit {code}, expected '{message}' in\n{output}")
print("every broken trace is refused")
