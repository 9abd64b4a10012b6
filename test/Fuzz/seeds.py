"""Writes valid files for the fuzzers to start from: seeds.py FOLDER makes FOLDER/{safetensors,npy,idx,spec,manifest}/."""
import json, pathlib, re, struct, sys


def safetensors():
    header = '{"dtype":"%s","shape":%s,"data_offsets":%s}'
    texts = (('{"a":' + header % ("F32", "[2]", "[0,8]") + "}", 8),
             ('{"__metadata__":{"format":"pt"},"b":' + header % ("F16", "[1,2]", "[0,4]")
              + ',"a":' + header % ("BF16", "[]", "[4,6]") + ',"c":' + header % ("F64", "[0,3]", "[6,6]") + "} ", 6),
             ("{}", 0))
    for text, size in texts:
        yield struct.pack("<Q", len(text)) + text.encode() + b"\1" * size


def npy():
    for version, dtype, shape, size in ((1, "<i4", "(2, 3)", 24), (2, "<f8", "()", 8), (3, "<i8", "(0,)", 0)):
        text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        yield b"\x93NUMPY" + bytes([version, 0]) + length + text + b"\1" * size


def idx():
    for code, size in enumerate((1, 1, 2, 4, 8, 8, 4, 2), 1):
        yield (struct.pack("<H", 3 * size)  # bytes of the .bin, then the index
               + b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, 3, 4)
               + struct.pack("<3i3q4q", 2, 0, 1, 0, 2 * size, 2 * size, 0, 1, 2, 3))


def spec():
    root = pathlib.Path(__file__).parents[2]
    for path in sorted(root.glob("examples/*/model.json")):
        yield path.read_bytes()
    # The parts after "//--- model.json" of the tests of wrong specs.
    for path in sorted(root.glob("test/Frontend/invalid/*.test")):
        before, marker, rest = path.read_text().partition("//--- model.json\n")
        if not marker:  # its specs are made from others
            continue
        text = rest.split("\n//---", 1)[0]
        yield text.encode()
        for flag in re.findall(r"--set (\S+)", before.split("FileCheck", 1)[0]):
            yield text.encode() + b"\0" + flag.encode()


def manifest():
    info = {"manifest_hash": "0" * 16, "format": "dsc checkpoint 2", "step": 3, "plan": "p",
            "data": {"epoch": 1, "row": 2, "windows_per_epoch": 9}, "log_bytes": 99, "evaluation_due": False,
            "evaluations": [[1, 0.5]], "files": [{"name": "state", "bytes": 9, "xxh3": "0123456789abcdef"}],
            "spec": {"train": {"steps": 3}}, "tensors": [{"name": "a", "role": "counter", "dtype": "F64", "shape": [2]}]}
    yield json.dumps(info, indent=2).encode()


for make in (safetensors, npy, idx, spec, manifest):
    folder = pathlib.Path(sys.argv[1], make.__name__)
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(make()):
        (folder / f"seed-{number}").write_bytes(data)
