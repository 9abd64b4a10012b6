"""Which tensors of two safetensors files are the same to the bit: frozen.py A B."""
import json
import sys


def tensors(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, data = json.loads(f.read(size)), f.read()
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


a, b = (tensors(path) for path in sys.argv[1:])
same = sorted(name.removeprefix("transformer.") for name in a if a[name] == b[name])
print("same:", *same)
print("changed:", *sorted(name.removeprefix("transformer.") for name in a if a[name] != b[name]))
