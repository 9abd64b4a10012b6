"""status.py EXPECTED COMMAND...: runs a command and fails unless it ends with that exit status."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit(f"expected exit status {sys.argv[1]}, found {status}")
