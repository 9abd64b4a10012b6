"""Fails unless a command ends with the exit code: exit-code.py CODE COMMAND..."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
if code != int(sys.argv[1]):
    sys.exit(f"exit code {code}, expected {sys.argv[1]}: {' '.join(sys.argv[2:])}")
