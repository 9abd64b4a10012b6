"""Fails unless pass `ds-a-b` of include/dsc/Passes/<Phase>.td has lib/Passes/<Phase>/AB.cpp, test/Passes/<Phase>/a-b.mlir
(and, if it can fail, a-b-invalid.mlir), a statistic, and a section in docs/Passes/<Phase>.md: pass_coverage.py ROOT
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
missing, count = [], 0
for record in sorted((root / "include/dsc/Passes").glob("*.td")):
    phase = record.stem
    for name, body in re.findall(r'^def \w+ : Pass<"([^"]+)"(.*?)^}', record.read_text(), re.M | re.S):
        count += 1
        plain = name.split("-", 1)[1]
        source = root / "lib/Passes" / phase / ("".join(word.capitalize() for word in plain.split("-")) + ".cpp")
        tests = [root / "test/Passes" / phase / f"{plain}.mlir"]
        if source.exists() and re.search(r"signalPassFailure|emitOpError", source.read_text()):
            tests.append(root / "test/Passes" / phase / f"{plain}-invalid.mlir")
        missing += [f"{name}: {path.relative_to(root)}" for path in [source, *tests] if not path.exists()]
        page = root / "docs/Passes" / f"{phase}.md"
        if not page.exists() or f"### `-{name}`" not in page.read_text():
            missing.append(f"{name}: no section in {page.relative_to(root)}")
        if "statistics" not in body:
            missing.append(f"{name}: no statistic")
print("\n".join(missing) or f"{count} passes covered")
sys.exit(bool(missing))
