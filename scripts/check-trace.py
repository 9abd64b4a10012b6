#!/usr/bin/env python3
"""Checks a Chrome trace such as dsrun --profile=FILE writes. check-trace.py FILE

What must hold, for each thread in the order of the file:
- times do not fall, durations are not negative;
- begins (B) and ends (E) are paired, under one name; complete slices (X) lie inside each other or apart;
- each flow has one start (s) and one end (f) after it, each inside a slice of its thread.
Prints what the trace holds, or every fault with the number of its event, and exits with 1.
"""
import collections
import decimal
import json
import sys


def nanoseconds(value):
    """Times are microseconds with decimals; whole numbers compare exactly."""
    return int((decimal.Decimal(str(value)) * 1000).to_integral_value()) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


class Thread:
    def __init__(self):
        self.last = None      # time of the event before
        self.open = []        # (name, end or None) from the outside in; None: a B that waits for its E
        self.slices = []      # (begin, end), to look flows up in
        self.begins = []      # of those that wait


def check(trace):
    faults = []
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list) or not events:
        return ["there is no list of events in 'traceEvents'"], ""
    threads, flows, counts = collections.defaultdict(Thread), collections.defaultdict(list), collections.Counter()
    for number, event in enumerate(events):
        def fault(text):
            faults.append(f"event {number}: {text}")
        if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
            fault("it is no object with a phase 'ph'")
            continue
        phase, name = event["ph"], event.get("name")
        counts[phase] += 1
        if phase == "M":
            continue
        if phase not in "XBEsf" or len(phase) != 1:
            fault(f"phase '{phase}' is unknown here")
            continue
        if phase != "E" and not isinstance(name, str):
            fault("it has no name")
        if not all(isinstance(event.get(key), int) for key in ("pid", "tid")):
            fault("it has no 'pid' and 'tid'")
            continue
        time = nanoseconds(event.get("ts"))
        if time is None or time < 0:
            fault(f"its time 'ts' is {event.get('ts')}")
            continue
        thread = threads[event["pid"], event["tid"]]
        if thread.last is not None and time < thread.last:
            fault(f"time falls in thread {event['tid']}: {time} ns after {thread.last} ns")
        thread.last = time
        if phase in "sf":
            flows[event.get("id")].append((phase, time, event["pid"], event["tid"], number))
            continue
        while phase != "E" and thread.open and thread.open[-1][1] is not None and thread.open[-1][1] <= time:
            # Ended before this one begins; of two at one moment the longer holds the shorter.
            if phase == "X" and thread.open[-1][1] == time and not nanoseconds(event.get("dur")):
                break
            thread.open.pop()
        if phase == "B":
            thread.open.append((name, None))
            thread.begins.append(time)
        elif phase == "X":
            duration = nanoseconds(event.get("dur"))
            if duration is None or duration < 0:
                fault(f"its duration 'dur' is {event.get('dur')}")
                continue
            end = time + duration
            outer = thread.open[-1] if thread.open else None
            if outer and outer[1] is not None and end > outer[1]:
                fault(f"'{name}' ends at {end} ns, '{outer[0]}', in which it begins, at {outer[1]} ns")
            thread.open.append((name, end))
            thread.slices.append((time, end))
        else:
            while thread.open and thread.open[-1][1] is not None and thread.open[-1][1] <= time:
                thread.open.pop()
            if not thread.open or thread.open[-1][1] is not None:
                fault("an end without a begin" if not thread.open else f"an end inside '{thread.open[-1][0]}', which is not over")
                continue
            opened = thread.open.pop()[0]
            if name is not None and name != opened:
                fault(f"the end of '{name}' where '{opened}' is open")
            thread.slices.append((thread.begins.pop(), time))
    for (_, tid), thread in threads.items():
        faults += [f"thread {tid}: '{name}' begins and does not end" for name, end in thread.open if end is None]
    for flow, ends in flows.items():
        if sorted(end[0] for end in ends) != ["f", "s"]:
            faults.append(f"flow {flow}: it has {sum(e[0] == 's' for e in ends)} starts and {sum(e[0] == 'f' for e in ends)} ends")
            continue
        start, end = sorted(ends, key=lambda e: e[0], reverse=True)
        if end[1] < start[1]:
            faults.append(f"flow {flow}: it ends at {end[1]} ns, before its start at {start[1]} ns")
        for phase, time, pid, tid, number in ends:
            if not any(begin <= time <= stop for begin, stop in threads[pid, tid].slices):
                faults.append(f"event {number}: flow {flow} touches thread {tid} at {time} ns, where there is no slice")
    return faults, f"{counts['X'] + counts['B']} slices in {len(threads)} threads, {len(flows)} flows"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__ if sys.argv[1:] not in (["-h"], ["--help"]) else print(__doc__))
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            trace = json.load(file)
    except (OSError, ValueError) as problem:
        sys.exit(f"check-trace.py: {sys.argv[1]}: {problem}")
    faults, summary = check(trace)
    for fault in faults[:20]:
        print(f"check-trace.py: {sys.argv[1]}: {fault}", file=sys.stderr)
    if faults:
        sys.exit(f"{len(faults)} faults")
    print(f"{summary}: in order")


if __name__ == "__main__":
    main()
