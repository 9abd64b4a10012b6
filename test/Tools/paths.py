"""Fails if a page names a file or folder of this project that does not exist: paths.py ROOT PAGE...

Looks at `code spans` that start with a top-level folder; <placeholders>, globs and what a build or run writes are left out.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folders = "include|lib|tools|test|bench|examples|docs|scripts|cmake"
missing = []
for page in sys.argv[2:]:
    text = (root / page).read_text()
    for span in re.findall(rf"`((?:{folders})/[^`\s]*)`", text) + re.findall(r"\]\(((?!https?:)[^)#]+)\)", text):
        if re.search(r"[<>*{]|\.\.\.|/out/", span):
            continue
        base = root if re.match(rf"({folders})/", span) and (root / span).exists() else (root / page).parent
        if not (base / span).exists():
            missing.append(f"{page}: {span}")
print("\n".join(missing) or "all paths exist")
sys.exit(bool(missing))
