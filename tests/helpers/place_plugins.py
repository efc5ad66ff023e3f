"""A package whose plug-ins decide where records go, well or badly, for tests of the shredder."""

from penstock.model.plugin_call import PluginCall

MODULE = '''
class Tenant:
    """Names a dataset by key, field or header; `how` makes it do it badly."""
    def __init__(self, how="field"):
        self._how = how
        self.fields = ("type",) if how in ("field", "raises", "bytes") else ()
    def datasets(self, records):
        if self._how == "key":
            return [f"k-{key.decode()}" if key else None for key in records.keys.to_pylist()]
        if self._how == "topic":
            return [f"{records.topic}-{offset % 2}" for offset in records.offsets.to_pylist()]
        if self._how == "header":
            return [row[0]["value"].decode() if row else "" for row in records.headers.to_pylist()]
        if self._how == "schema":
            return [f"of-{records.schema_name}"] * len(records)
        if self._how == "fewer":
            return []
        names = records.fields["type"]
        if self._how == "raises" and "c" in names:
            raise ValueError("cannot place c")
        return [name.encode() if self._how == "bytes" else f"t-{name}" for name in names]

class Bucket:
    """Puts records into buckets by a number; raises where there is none."""
    def __init__(self, of="n", count=2):
        self.fields = (of,)
        self._count = count
    def texts(self, records):
        (numbers,) = records.fields.values()
        return [str(number % self._count) if number != 99 else None for number in numbers]

class Week:
    """The week of the event time."""
    fields = ()
    def texts(self, records):
        return [f"{time.isocalendar().week}" for time in records.event_times.to_pylist()]

class Tiers:
    """Large numbers are gold, and even ones are even; raises where there is no number."""
    def __init__(self, least=10, wrong=""):
        self.fields = ("n",)
        self._least = least
        self._wrong = wrong
    def datasets(self, records):
        if self._wrong == "text":
            return ["gold"] * len(records)
        if self._wrong == "foreign":
            return [["brass"]] * len(records)
        return [
            ["gold"] * (n >= self._least) + ["even"] * (n % 2 == 0)
            for n in records.fields["n"]
        ]

class Odd:
    fields = "n"
    def datasets(self, records): return []
    texts = datasets
'''
NAME = "acme_places"
ENTRIES = {
    "penstock.routes": {"tenant": f"{NAME}:Tenant", "odd": f"{NAME}:Odd"},
    "penstock.partitions": {"bucket": f"{NAME}:Bucket", "week": f"{NAME}:Week"},
    "penstock.forks": {"tiers": f"{NAME}:Tiers"},
}


def call(name: str, **options: str | int | bool) -> PluginCall:
    """A plug-in with options."""
    return PluginCall(name, tuple(options.items()))
