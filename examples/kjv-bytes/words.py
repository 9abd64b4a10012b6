"""Prints which share of the words in a text occurs in another: words.py CORPUS TEXT LEAST.

Words are runs of letters, in lower case. The last one of TEXT may be cut off, so it does not count. Exit 1 below LEAST (percent).
"""
import re
import sys

corpus, text, least = open(sys.argv[1]).read(), open(sys.argv[2], errors="replace").read(), float(sys.argv[3])
known = set(re.findall(r"[a-z]+", corpus.lower()))
words = re.findall(r"[a-z]+", text.lower())[:-1]
if not words:
    sys.exit("words.py: no words in " + sys.argv[2])
share = 100 * sum(word in known for word in words) / len(words)
print(f"{share:.1f} % of the {len(words)} generated words occur in the Bible")
sys.exit(share < least)
