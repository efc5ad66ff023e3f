"""`python -m tests.fuzz.json_scanner`: random and broken JSON records, by scanner and reference.

    python -m tests.fuzz.json_scanner --records 100000 --seed 7

Hypothesis draws small records, and a few thousand of them. This draws many and larger ones. Each
batch is made after a random tree of fields, with several writers who write keys, spaces, escapes
and numbers in ways of their own; fields that are absent, null, empty or of another kind; and one
record in six is broken. Half of the batches are read with the schema that is learned of their first
records, so that the rest drifts away from it; the others with one of all sound records. The scanner
must give the same columns, `_rest`, bad records, new fields and conflicts as the reference. The
seed of a batch is printed when they differ.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.datapath.codec.json.decoder import Decoded, JsonDecoder
from penstock.datapath.codec.json.scan_layout import TRIES
from penstock.model.read_ways import MOST_MISFITS, Misfits
from penstock.model.schema import DatasetSchema

BATCH = 500
NAMES = (
    "id",
    "user",
    "at",
    "Ärger",
    'q"uote',
    "a.b",
    "_rest",
    "n",
    "text",
    "items",
    "geo",
    "x" * 70,
)
TEXTS = (
    "",
    "plain",
    "é ü 漢字",
    'quo"te',
    "back\\slash",
    "tab\tnl\n",
    "\u0000",
    "😀",
    "2026-11-18",
)
NUMBERS = (0, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**30, 0.5, -0.0, 1e-7, 1e300, 3.10)
LITERALS = (
    "-0",
    "1.0",
    "1e2",
    "1E+5",
    "1e400",
    "0.1000",
    "01",
    "+1",
    ".5",
    "1.",
    "NaN",
    "nul",
    "[]",
)

Field = Callable[[random.Random], Any]


def fields(dice: random.Random, depth: int) -> dict[str, Field]:
    """A random object: its keys, and what draws their values."""
    names = dice.sample(NAMES, dice.randint(1, 7))
    return {name: value(dice, depth) for name in names}


def value(dice: random.Random, depth: int) -> Field:
    """A random kind of value."""
    kind = dice.choice(
        ("text", "int", "double", "bool", "time", "object", "list", "objects", "any")
    )
    if depth > 3 and kind in ("object", "list", "objects"):
        kind = "text"
    if kind in ("object", "objects"):
        inside = fields(dice, depth + 1)
        one: Field = lambda d: drawn(d, inside)  # noqa: E731
        return one if kind == "object" else lambda d: [one(d) for _ in range(d.randint(0, 4))]
    if kind == "list":
        item = value(dice, depth + 1)
        return lambda d: [item(d) for _ in range(d.randint(0, 6))]
    plain: dict[str, Field] = {
        "text": lambda d: d.choice(TEXTS) * d.randint(0, 3),
        "int": lambda d: d.randint(-(10 ** d.randint(1, 18)), 10 ** d.randint(1, 18)),
        "double": lambda d: d.uniform(-1, 1) * 10.0 ** d.randint(-20, 20),
        "bool": lambda d: d.random() < 0.5,
        "time": lambda d: f"2026-{d.randint(1, 13):02}-{d.randint(1, 31):02}T10:00:00Z",
        "any": anything,
    }
    return plain[kind]


def anything(dice: random.Random) -> Any:
    """A value of any kind."""
    return dice.choice((None, [], {}, [None], {"a": {}}, [1, "a"], True, *TEXTS, *NUMBERS))


def drawn(dice: random.Random, inside: dict[str, Field]) -> dict[str, Any]:
    """An object; now and then fields are absent, of another kind, or new."""
    found = {}
    for name, draw in inside.items():
        luck = dice.random()
        if luck > 0.1:
            found[name] = anything(dice) if luck < 0.13 else draw(dice)
    if dice.random() < 0.03:
        found[dice.choice(NAMES)] = anything(dice)
    return found


def written(dice: random.Random, event: dict[str, Any]) -> bytes:
    """The text of an event by one of several writers."""
    if dice.random() < 0.3:
        event = dict(dice.sample(sorted(event.items()), len(event)))
    between = dice.choice(((",", ":"), (", ", ": "), (" ,\t", "\r\n: ")))
    text = json.dumps(event, ensure_ascii=dice.random() < 0.5, separators=between)
    if dice.random() < 0.05:
        key, literal = json.dumps(dice.choice(NAMES)), dice.choice(LITERALS)
        text = f"{{{key}:{literal}{',' if event else ''}{text[1:]}"
    if dice.random() < 0.1:
        text = text.replace("e", "\\u0065", 1) if '"e' in text else f" {text}\n"
    return text.encode("utf-8", "surrogatepass")


def broken(dice: random.Random, payload: bytes) -> bytes:
    """The payload after an accident."""
    at = dice.randrange(len(payload))
    accident = dice.randrange(8)
    if accident == 0:
        return payload[:at]
    if accident == 1:
        return payload + dice.choice((payload, b" ", b",", b"}", b"\x00", b"\xff"))
    if accident == 2:
        return payload[:at] + bytes([payload[at] ^ (1 << dice.randrange(8))]) + payload[at + 1 :]
    if accident == 3:
        return payload[:at] + dice.randbytes(dice.randint(1, 3)) + payload[at:]
    if accident == 4:
        return payload[:at] + payload[at + 1 :]
    if accident == 5:
        return dice.choice((b"", b" ", b"[]", b"null", b"\xef\xbb\xbf{}", b"{}", b'"a"', b"7"))
    if accident == 6:
        return payload.replace(b'"', b"'", 1)
    return payload[:-1] + b',"deep":' + b"[" * 70 + b"]" * 70 + b"}"


def batch(seed: int) -> tuple[list[bytes], list[bytes]]:
    """The records of one batch, and those that its schema is learned of."""
    dice = random.Random(seed)
    inside = fields(dice, 0)
    sound = [written(dice, drawn(dice, inside)) for _ in range(BATCH)]
    payloads = [broken(dice, each) if dice.random() < 1 / 6 else each for each in sound]
    return payloads, sound[:20] if dice.random() < 0.5 else sound


def difference(seed: int) -> tuple[str, int]:
    """What scanner and reference do not agree about, and how many records the scanner has read."""
    payloads, samples = batch(seed)
    schema = JsonDecoder().infer(samples, "d")
    values = pa.array(payloads, pa.binary())
    fast = JsonDecoder().decode(values, schema)
    exact = JsonDecoder(exact_only=True).decode(values, schema)
    fast.batch.validate(full=True)
    for what, see in SEEN.items():
        if see(fast) != see(exact):
            return what, fast.counts.fast
    if not counts_alike(fast.counts.misfits, exact.counts.misfits):
        return "what did not fit", fast.counts.fast
    is_known = knows_new_fields(values, schema, fast, exact)
    return "" if is_known else "new fields", fast.counts.fast


def counts_alike(fast: Misfits, exact: Misfits) -> bool:
    """True when both have counted the same misfits.

    Of very many different ones the first `MOST_MISFITS` are counted, and the order in which they
    are met decides which. The reference counts all records of those; of a misfit that both have,
    the scanner may have left out some, for it has that limit itself, but adds none.
    """
    if min(len(fast), len(exact)) < MOST_MISFITS:
        return fast == exact
    both = [(fast[misfit], exact[misfit]) for misfit in fast.keys() & exact.keys()]
    return all(few <= all_ and first >= earliest for (few, first), (all_, earliest) in both)


def knows_new_fields(
    values: pa.Array, schema: DatasetSchema, fast: Decoded, exact: Decoded
) -> bool:
    """True when the scanner names the fields that could get a column, with the same records.

    It keeps the first `TRIES` values of a field in a batch. Only a field of which none of these
    fits a column may be named with a later record, or not at all.
    """
    mine = dict(zip(fast.unknown, fast.unknown_at, strict=True))
    theirs = dict(zip(exact.unknown, exact.unknown_at, strict=True))
    later = {path: at for path, at in theirs.items() if mine.get(path) != at}
    return theirs.keys() >= mine.keys() and all(
        mine.get(path, at) >= at and has_used_tries(values, schema, fast, path, at)
        for path, at in later.items()
    )


def has_used_tries(
    values: pa.Array, schema: DatasetSchema, fast: Decoded, path: str, at: int
) -> bool:
    """True when the scanner had kept its values of a field before it came to the one that fits.

    One record has several of a field that is in objects of a list. Then one record before is
    enough, or more values in this one than are kept.
    """
    singly, wanted = set(fast.singly), 1 if "[]" in path else TRIES
    if at in singly:
        return False  # the reference has named it itself
    if "[]" in path and values_of(json.loads(values[at].as_py()), last_name(path)) > TRIES:
        return True
    earlier = [number for number in range(at) if number not in singly]
    found = 0
    for number in reversed(earlier):
        alone = JsonDecoder(exact_only=True).decode(values.slice(number, 1), schema)
        found += any(name == path for name, *_ in alone.counts.misfits)
        if found >= wanted:
            return True
    return False


def last_name(path: str) -> str:
    """The name of the field at the end of a path; dots in names are escaped there."""
    return path.replace("\\.", "\0").rpartition(".")[2].replace("\0", ".")


def values_of(document: object, name: str) -> int:
    """How many objects of a document have a member of this name."""
    if isinstance(document, list):
        return sum(values_of(each, name) for each in document)
    if isinstance(document, dict):
        inside = sum(values_of(each, name) for each in document.values())
        return inside + (name in document)
    return 0


SEEN: dict[str, Callable[[Decoded], Any]] = {
    "the columns": lambda found: found.batch.schema,
    "the values": lambda found: repr(found.batch.to_pylist()),  # nan and -0.0 are seen in texts
    "which records are good": lambda found: found.good.tolist(),
    "which records are bad": lambda found: found.bad,
    "empty values": lambda found: found.counts.empty,
}


def main() -> int:
    """Compare until enough records were read; 1 at the first difference."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--records", type=int, default=100_000)
    words.add_argument("--seed", type=int, help="of the first batch; the next has the next one")
    chosen = words.parse_args()
    start = random.SystemRandom().getrandbits(32) if chosen.seed is None else chosen.seed
    batches, scanned = -(-chosen.records // BATCH), 0
    for seed in range(start, start + batches):
        found, fast = difference(seed)
        scanned += fast
        if found:
            print(f"seed {seed}: scanner and reference do not agree about {found}")
            return 1
    print(f"{batches * BATCH} records from seed {start}: no difference; {scanned} by the scanner")
    return 0


if __name__ == "__main__":
    sys.exit(main())
