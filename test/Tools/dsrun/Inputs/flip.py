"""flip.py IN OFFSET OUT: changes one bit of one byte."""
import pathlib
import sys

data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
data[int(sys.argv[2])] ^= 1
pathlib.Path(sys.argv[3]).write_bytes(data)
