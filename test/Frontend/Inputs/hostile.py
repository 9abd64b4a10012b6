"""Writes specs that are too deep, too large, or no text, into the current folder."""
files = {
    "deep.json": b'{"model": ' + b"[" * 100000,
    "large.json": b" " * (4 * 1024 * 1024 + 1),
    "many.json": b'{"model": [' + b"0," * 100001 + b"0]}",
    "unknown.json": b'{"model": {' + b",".join(b'"k%d":1' % i for i in range(90000)) + b"}}",
    "doubled.json": b'{"model": {' + b",".join([b'"k":1'] * 90000) + b"}}",
    "latin1.json": b'{"data": {"train": "       \xe9.txt"}}',
    "overlong.json": b'{"data": {"train": "       \xc0\xaf.txt"}}',
    "zero.json": b'{ \x00"schema_version": 1}',
    "mark.json": b'\xef\xbb\xbf{"schema_version": 2}',
    "marks.json": b'\xef\xbb\xbf\xef\xbb\xbf{"schema_version": 1}',
    "device.json": b'{"schema_version": 1, "model": "/dev/zero"}',
}
for name, data in files.items():
    with open(name, "wb") as f:
        f.write(data)
