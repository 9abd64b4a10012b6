#!/usr/bin/env bash
# Writes the King James Bible, one verse a line ("Ge1:1 In the beginning ..."), to the file named.
# Source: Debian's package bible-kjv, whose own program prints the text; its greeting repeats the first verse.
set -euo pipefail
out=${1:?usage: prepare.sh FILE}
mkdir -p "$(dirname "$out")"
printf 'ge1:1-re22:21\n' | bible -f 2>/dev/null |
  grep -E '^[0-9]?[A-Z][A-Za-z]*[0-9]+:[0-9]+ ' | awk '!seen[$1]++' >"$out.part"
verses=$(wc -l <"$out.part")
if [[ "$verses" -ne 31102 ]]; then
  echo "prepare.sh: expected 31102 verses, found $verses: is bible-kjv installed?" >&2
  exit 1
fi
mv "$out.part" "$out"
