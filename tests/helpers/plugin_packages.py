"""Packages with plug-ins, as they lie on a path after they were installed."""

import sys
from pathlib import Path
from zipfile import ZipFile

MODULE = '''
import pyarrow as pa
from penstock.api.converter import ConvertedBatch

class Shout:
    """Turns `who` into capitals; lets go who is "nobody", and fails for numbers."""
    def __init__(self, ending="", **others):
        if others:
            raise TypeError("no such option")
        self._ending = ending
    def output_schema(self, schema):
        return schema.append(pa.field("length", pa.int64()))
    def convert_record(self, record):
        who = record["who"]
        if who == "nobody":
            return None
        if who is not None and who.isdigit():
            raise ValueError("a number\\nis no name")
        record["who"] = who and who.upper() + self._ending
        record["length"] = who and len(who)
        return record

class Odd:
    """Does whatever its option says, on records."""
    def __init__(self, how):
        self._how = how
    def output_schema(self, schema):
        if self._how == "no schema":
            return ["who"]
        if self._how == "raises early":
            raise KeyError("early")
        kind = pa.int32() if self._how == "no column" else pa.string()
        return pa.schema([pa.field("who", kind, nullable=self._how != "null")])
    def convert_record(self, record):
        return {
            "list": [1], "undeclared": {"who": "x", "more": 1}, "type": {"who": 5},
            "null": {"who": None}, "nothing": {}, "leaks": {},
        }[self._how if self._how != "leaks" else int(record["who"] or record["secret"])]

class Halves:
    """Keeps even rows, filters one and calls the others bad, on batches; or does it wrong."""
    def __init__(self, how="right"):
        self._how = how
    def output_schema(self, schema):
        return schema
    def convert_batch(self, batch):
        even = list(range(0, batch.num_rows, 2))
        odd = list(range(1, batch.num_rows, 2))
        taken = batch.take(pa.array(even, pa.int64()))
        if self._how == "raises":
            raise RuntimeError("no way")
        if self._how == "loses":
            return ConvertedBatch(taken, even, odd[1:])
        if self._how == "doubles":
            return ConvertedBatch(taken, even, odd, [(0, "too")])
        if self._how == "counts":
            return ConvertedBatch(batch, even, odd)
        if self._how == "columns":
            return ConvertedBatch(taken.select(["who"]), even, odd)
        if self._how == "nothing":
            return None
        return ConvertedBatch(taken, even, odd[:1], [(row, "odd") for row in odd[1:]])

class Mend:
    """Takes away a price that is none."""
    def output_schema(self, schema):
        return schema
    def convert_record(self, record):
        return record | {"price": None if record["price"] == "n/a" else record["price"]}

def neither():
    return object()

class Silent:
    """Does not say which fields come out."""
    def convert_record(self, record):
        return record
'''
ENTRIES = """[penstock.converters]
shout = {module}:Shout
odd = {module}:Odd
halves = {module}:Halves
mend = {module}:Mend
neither = {module}:neither
silent = {module}:Silent
gone = {module}:Gone
"""


def files_of(module: str) -> dict[str, str]:
    """The files of an installed package by their paths."""
    info = f"{module}-1.0.dist-info"
    return {
        f"{module}.py": MODULE,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n",
        f"{info}/entry_points.txt": ENTRIES.format(module=module),
    }


def install(directory: Path, module: str) -> None:
    """Lay a package into a directory that is on the path."""
    sys.modules.pop(module, None)
    for name, text in files_of(module).items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def zipped(path: Path, module: str) -> Path:
    """The same as one file."""
    with ZipFile(path, "w") as archive:
        for name, text in files_of(module).items():
            archive.writestr(name, text)
    return path
