"""Replays the order of an epoch and initial weights from their description alone (docs/Data.md).

    replay_order.py order SEED EPOCH WINDOWS    the windows of the epoch, in order
    replay_order.py normal SEED NAME COUNT      the first initial weights of a variable, stddev 1
"""
import statistics, struct, sys

MASK = 0xFFFFFFFF


def philox(seed, low, high):
    """Philox 4x32-10: the first two of four words as one number, low word first."""
    key = [seed & MASK, seed >> 32]
    c = [low & MASK, low >> 32, high & MASK, high >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & MASK, (a >> 32) ^ c[3] ^ key[1], a & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return c[0] | c[1] << 32


def epoch_order(seed, epoch, windows):
    order = list(range(windows))
    for i in range(windows - 1, 0, -1):
        j = philox(seed, i, epoch) * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return order


def initial_normal(seed, name, index, stddev):
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    u = ((philox(seed, index, hashed) >> 12) + 0.5) / 2**52
    value = stddev * statistics.NormalDist().inv_cdf(u)
    return struct.unpack("f", struct.pack("f", value))[0]


if __name__ == "__main__":
    what, seed, key, count = sys.argv[1:]
    if what == "order":
        print(*epoch_order(int(seed), int(key), int(count)))
    else:
        print(*(repr(initial_normal(int(seed), key, i, 1.0)) for i in range(int(count))))
