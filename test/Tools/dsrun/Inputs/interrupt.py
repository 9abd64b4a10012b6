"""interrupt.py SIGNAL STATUS LOG COMMAND...: sends the signal once the log has lines, expects the exit status and that
the log ends with a whole line."""
import json
import os
import signal
import subprocess
import sys
import time

name, expected, log, command = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
if os.path.exists(log):
    os.remove(log)
# Tests that run under nohup have SIGHUP ignored.
run = subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
end = time.monotonic() + 60
while not (os.path.exists(log) and os.path.getsize(log) > 500):
    if time.monotonic() > end or run.poll() is not None:
        run.kill()
        sys.exit("the run wrote no log")
    time.sleep(0.01)
run.send_signal(getattr(signal, name))
status = run.wait(60)
if status != expected:
    sys.exit(f"expected exit status {expected}, found {status}")
lines = open(log).read().splitlines()
assert json.loads(lines[-1])["step"] == len(lines)
