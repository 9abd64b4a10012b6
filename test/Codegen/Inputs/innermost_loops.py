"""Reads `llvm-objdump -d --no-show-raw-insn` and prints one line for each innermost loop: how many of its
instructions are fused multiply-adds (by register width), multiplications, additions, and stack accesses."""
import re
import sys

code = []
for line in sys.stdin:
    match = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*([^#<]*)", line)
    if match:
        code.append((int(match[1], 16), match[2], match[3].strip()))

loops = []
for address, name, operands in code:
    if name.startswith("j") and operands.startswith("0x") and int(operands, 16) <= address:
        loops.append((int(operands, 16), address))
for first, last in sorted(loops):
    if any(first <= f and l <= last and (f, l) != (first, last) for f, l in loops):
        continue
    body = [(name, operands) for address, name, operands in code if first <= address <= last]
    count = lambda test: sum(1 for name, operands in body if test(name, operands))
    print("fma.zmm=%d fma.ymm=%d mul=%d add=%d stack=%d calls=%d" % (
        count(lambda n, o: n.startswith("vfmadd") and n.endswith("ps") and "%zmm" in o),
        count(lambda n, o: n.startswith("vfmadd") and n.endswith("ps") and "%ymm" in o),
        count(lambda n, o: n in ("mulps", "vmulps")),
        count(lambda n, o: n in ("addps", "vaddps")),
        count(lambda n, o: "%rsp" in o or "%rbp)" in o),
        count(lambda n, o: n.startswith("call"))))
