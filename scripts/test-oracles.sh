#!/usr/bin/env bash
# What compares with Python packages (PyTorch, transformers, NumPy), in a virtual environment made here (.venv-oracles).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-dependencies.sh
scripts/build.sh

venv=.venv-oracles
if ! cmp -s test/Oracles/requirements.txt "$venv/installed.txt" 2>/dev/null; then
  python3 -m venv "$venv" 2>/dev/null || { apt-get install -y -qq python3-venv >/dev/null && python3 -m venv "$venv"; }
  echo "installing the oracles' Python packages into $venv"
  "$venv/bin/pip" install --quiet --requirement test/Oracles/requirements.txt
  cp test/Oracles/requirements.txt "$venv/installed.txt"
fi
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider test/Oracles "$@"
