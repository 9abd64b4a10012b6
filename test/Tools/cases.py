"""Writes docs/Cases.md: which test holds each known mistake off. cases.py ROOT prints the page.

A test names its cases in its own name (`TEST(Data, DO_04_...)`) or in a comment (`CF-07`). A case without a test is an error.
"""
import pathlib
import re
import sys

CASES = {
    "MP-01": "with tiny gradients the scale grows to infinity and never comes back",
    "MP-02": "at the smallest scale every step overflows and the run spins for days",
    "MP-03": "the scale has a floor of 1, where some models need less",
    "MP-05": "a skipped update still moves the schedule and the counters",
    "MP-10": "weights in float16 are their own masters, and small updates vanish",
    "MP-11": "norms square and sum in float16, get infinity and output zeros",
    "MP-13": "a mask constant does not fit float16",
    "MP-14": "an additive mask is beaten by large scores",
    "MP-15": "a compiled conversion to float16 is wrong for some lengths of vector",
    "MP-17": "casts are folded that do not cancel",
    "MP-18": "rounding at the edges of a type differs between library, compiler and hardware",
    "MP-19": "accumulators are as narrow as the storage",
    "CF-02": "a number given as a string is taken for 0, or parsed in silence",
    "CF-03": "of a duplicate key the last one wins in silence",
    "CF-04": "numbers beyond the range of a double become infinity or 0",
    "CF-06": "malformed numbers pass; large integers lose digits",
    "CF-07": "sizes of the wrong kind or range are taken as they are",
    "CF-08": "a byte-order mark is refused; written JSON holds NaN",
    "PF-02": "offsets negative, reversed or past the end",
    "PF-03": "a product of dimensions wraps to a small number",
    "PF-04": "a zero dimension or alignment is divided by",
    "PF-06": "a tiny file asks for gigabytes",
    "PF-07": "overlaps, gaps, repeated names, trailing bytes, a flipped byte",
    "DO-01": "a resumed epoch goes on in another order, and sees samples twice",
    "DO-03": "the data to skip is counted without the accumulation",
    "DO-04": "every epoch has the same order",
    "DO-05": "seed and epoch collide",
    "DO-07": "evaluation drops the remainder",
    "DO-08": "a data set shorter than one window reads past its end",
    "DO-09": "token ids are stored or read in too few bits",
    "DO-12": "a document longer than the window is lost in silence, or the loader never ends",
    "DO-13": "a byte-order mark costs the first record",
    "AT-01": "packed documents attend to each other",
    "AT-02": "positions run on from one packed document to the next",
    "AT-04": "boundaries are guessed from end-of-text tokens",
    "AT-05": "an end-of-text belongs to the document behind it",
    "AT-06": "a row with nothing to attend to is NaN",
    "AT-08": "a mask that leaks, or comes after the softmax",
    "AW-01": "decay is not multiplied by the learning rate",
    "AW-02": "decay folded into the gradient where it should be decoupled, or the reverse",
    "AW-03": "bias correction missing or off by one",
    "AW-05": "gains and biases decay",
    "AW-06": "frozen parameters decay",
    "AW-07": "the configured decay never reaches the optimizer",
    "AW-09": "decay does not use the rate of the moment",
    "LR-01": "the first update has rate 0",
    "LR-02": "a decay of no length divides by zero",
    "LR-04": "the rate rises again after the end",
    "LR-05": "the cosine runs over all steps, not those after warm-up",
    "LR-10": "the number of updates is rounded down, or each epoch starts a window",
    "DR-03": "recomputation draws a fresh mask, so the gradient belongs to another sample",
    "DR-06": "forward and backward draw different masks",
    "DR-07": "resuming loses the generator's position; p = 1 divides by 0",
    "LS-03": "the smoothing mass is spread over another number of classes",
    "LS-04": "the logarithm of an underflowed probability",
    "MP-09": "a skipped step leaves something behind",
    "CL-06": "a norm that is not finite changes weights",
    "CL-07": "a zero gradient divides by its norm",
    "CL-08": "the norm counts stale gradients of frozen parameters",
    "GA-03": "the loss is divided by tokens and again by the number of micro-batches",
    "GA-04": "the logged loss grows with the number of micro-batches",
    "GA-06": "an accumulation of 0 or a fraction is accepted",
    "GA-10": "micro-batches without a counted token still count in the divisor",
    "GA-11": "a window with nothing counted gives NaN",
    "GA-12": "labels out of range read memory",
    "GA-14": "labels are shifted twice or not at all",
    "GA-16": "the result changes with the size of the micro-batch",
    "AT-06": "a sample that is all padding gives NaN, or changes the others",
    "AT-08": "the mask is applied after the softmax, or with the wrong sign",
    "PP-03": "a tied weight is counted twice among the parameters",
    "PP-05": "micro-batches of unequal size take the shape of the first",
    "LR-08": "resuming restarts the warm-up, or takes the epoch for the step",
    "CK-01": "killed during a save, the old checkpoint is gone and the new one half written",
    "CK-02": "two writers share a temporary name",
    "CK-03": "a set of files is half old, half new",
    "CK-05": "master weights are rebuilt from half precision",
    "CK-06": "optimizer state or its step count is not saved",
    "CK-07": "a save in the middle of a window loses the gradients added up so far",
    "CK-10": "a truncated or changed file is loaded, or crashes the reader",
    "TB-01": "records of event files carry wrong or no checksums, and readers stop",
    "TB-02": "after resuming from an earlier step the curve doubles back",
    "TK-01": "decoding token by token destroys characters",
    "TK-02": "invalid bytes block the stream",
    "TK-05": "token ids above the vocabulary",
    "SH-01": "heads are divided by the degree and rounded down",
    "GA-02": "ranks divide by their own number of tokens",
    "GA-07": "a pipeline divides the accumulated gradient at every call",
    "GA-08": "with a pipeline the norm is that of raw sums",
    "GA-15": "ranks sum gradients on the first micro-batch only, or on each",
    "CL-02": "parameters that all tensor ranks have count once a rank in the norm",
    "CL-03": "the norm over ranks is the greatest of theirs",
    "CL-04": "a tied table on the first and the last stage counts twice in the norm",
    "MP-06": "ranks judge overflow each by itself, and part",
    "LR-06": "the schedule moves once a process",
    "LR-09": "resumed on another number of ranks, the learning rate is another",
    "DR-01": "tensor ranks draw masks of their own for what they all have",
    "DR-02": "all data-parallel ranks draw the same mask",
    "PP-01": "both copies of a tied table drift apart",
    "PP-02": "sharing out the optimizer adds half of a tied table's gradient",
    "PP-07": "with 1F1B some stages sum gradients before their last micro-batch",
    "SH-02": "padding of the vocabulary takes part in the softmax",
    "SH-03": "a padded vocabulary is saved with its padding",
    "CO-01": "a float16 sum overflows before it is divided, or underflows when divided first",
    "CO-03": "a rank dies or stands still, and the others wait in silence",
    "OB-01": "what 1-bit compression loses is kept but never added",
    "OB-02": "the sign of 0 differs from path to path; bits behind the end count",
    "OB-03": "both ends of a message have another scale",
    "OB-05": "residuals are reset when buckets change",
    "OB-06": "lengths that 8 and the number of ranks do not divide",
}

# Known mistakes that cannot be made here yet, and why.
RANKS = "no test injects it yet"
LEFT_OUT = {
    "MP-07": RANKS,
    "CK-09": "no test has a disk slow enough; while rank 0 evaluates it keeps the others waiting",
    "DR-05": "needs sequence parallelism", "PP-06": "needs sequence parallelism",
    "LS-02": "its numbers are means of log-probabilities, which nothing reports; a cut vocabulary with smoothing is in tensor.test",
    "SH-05": "needs logits wider than the vocabulary: here both have `vocab_size` columns, see TK-05",
    "DR-03": "needs recomputation",
    "AT-01": "needs packed documents", "AT-02": "needs packed documents", "AT-04": "needs packed documents", "AT-05": "needs packed documents",
    "AT-09": "needs BERT's objective",
    "DO-11": "needs batches by a budget of tokens", "DO-12": "needs batches by a budget of tokens",
    "TK-04": "needs a trained tokenizer",
}

root = pathlib.Path(sys.argv[1])
found = {case: [] for case in CASES}
for path in sorted((root / "test").rglob("*")):
    if path.suffix not in (".cpp", ".test", ".mlir") or path.name == "cases.test":
        continue
    for number, line in enumerate(path.read_text(errors="replace").splitlines()):
        test = re.match(r"TEST(?:_F|_P)?\((\w+), (\w+)\)", line)
        for letters, digits in re.findall(r"(?<![A-Z])([A-Z]{2})[-_]?(\d{2})(?!\d)", line):
            case = f"{letters}-{digits}"
            if case in found and (test or path.suffix == ".test"):
                label = f"{test[1]}.{test[2]}" if test else path.stem
                entry = f"[{label}](../{path.relative_to(root)})"
                if entry not in found[case]:
                    found[case].append(entry)
print("# Cases\n\nMistakes that other systems made, and the tests that hold them off here. Written by `test/Tools/cases.py`.\n")
print("| case | what goes wrong elsewhere | tests |\n|---|---|---|")
for case, text in CASES.items():
    print(f"| {case} | {text} | {', '.join(found[case]) or '**none**'} |")
print("\n## Left out\n\nMistakes whose subject does not exist here, and why they have no test.\n\n| case | why |\n|---|---|")
for case, why in LEFT_OUT.items():
    if case not in CASES:
        print(f"| {case} | {why} |")
missing = [case for case in CASES if not found[case]]
if missing:
    sys.exit("no test for " + ", ".join(missing))
