#!/usr/bin/env bash
# Writes kjv.txt (the Bible, as examples/kjv-bytes has it) and fortunes.txt to a folder: the texts of Debian's package fortunes,
# each ended by a line "%". Every twentieth is put at the end, where validation_fraction takes it from: of all kinds.
set -euo pipefail
out=${1:?usage: prepare.sh FOLDER}
"$(dirname "$0")/../kjv-bytes/prepare.sh" "$out/kjv.txt"
fortunes=/usr/share/games/fortunes
files=$(cd "$fortunes" 2>/dev/null && find . -type f ! -name '*.dat' | LC_ALL=C sort) || true
if [[ -z "$files" ]]; then
  echo "prepare.sh: no texts in $fortunes: is the package fortunes installed?" >&2
  exit 1
fi
(cd "$fortunes" && LC_ALL=C awk '
  /^%$/ { if (text != "" && ++n % 20) printf "%s%%\n", text; else if (text != "") last = last text "%\n"; text = ""; next }
  { text = text $0 "\n" }
  END { printf "%s", last }' $files) >"$out/fortunes.txt.part"
mv "$out/fortunes.txt.part" "$out/fortunes.txt"
