"""No local path outside the local store: a lake may lie anywhere.

Goal: code that opens, lists or renames files by a path of its own works on a laptop and fails on
any other store. Method: every use of a name that takes a path is held against a table of modules
with reasons, and nobody but the stores asks for the address of a lake.

Limit: a method of a `Path` is not seen where an allowed module hands the value to another one.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.names import reaches, uses

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
LOCAL_STORE = "penstock.ports.store.local.local_store"
NAMES = (
    "pathlib", "os", "open", "builtins.open", "io.open", "io.open_code", "io.FileIO", "codecs.open",
    "shutil", "glob", "tempfile", "mmap", "fcntl", "fileinput", "zipfile", "tarfile", "gzip.open",
    "pyarrow.OSFile", "pyarrow.memory_map", "pyarrow.MemoryMappedFile", "pyarrow.input_stream",
    "pyarrow.create_memory_map", "pyarrow.fs", "pyarrow.dataset", "pyarrow.parquet", "pyarrow.orc",
    "pyarrow.csv", "pyarrow.json", "pyarrow.feather",
)  # fmt: skip

# What `os` has beside files.
HARMLESS = (
    "os.environ", "os.getpid", "os.getuid", "os.kill", "os.pathsep", "os.strerror", "os.SEEK_END",
)  # fmt: skip

# Where paths are right, and what they lead to; a folder stands for all of its modules.
ALLOWED = {
    "ports/store/local/": "the local store itself",
    "ports/store/open_store.py": "a lake that is given as a path becomes an address",
    "care/fixed_file.py": "the file of corrected records that a user names",
    "care/new_file.py": "the file that a user names for an export",
    "config/feed_values.py": "schema files that a feed names",
    "config/offsets_file.py": "a file with offsets that a user names",
    "config/load.py": "the configuration file",
    "config/location.py": "a lake that is given as a path becomes an address",
    "config/places.py": "the cache, Java and the home directory of this machine",
    "config/secrets.py": "files that hold a secret",
    "config/section_grammar.py": "the directory that other paths of the file are relative to",
    "config/yaml_file.py": "the configuration file",
    "cli/options/shared_options.py": "the argument --config",
    "cli/options/init_options.py": "the configuration file that it writes",
    "cli/options/demo_options.py": "the directory of the demo",
    "cli/commands/demo.py": "the directory of the demo, and the width of the terminal",
    "cli/moving_line.py": "the width of the terminal",
    "cli/status_rows.py": "the width of the terminal",
    "cli/journal_dump.py": "the argument LAKE, which is relative to the current directory",
    "cli/output_streams.py": "output that nobody reads goes to the null device",
    "cli/serving.py": "the files of a token and of metrics that a user names",
    "serve/text_file.py": "the file of metrics that a user names",
    "demo/": "a lake on this machine, counted by code that shares nothing with the rest",
    "testing/broker.py": "the directory and the jars of a Kafka that it starts",
    "testing/certificates.py": "the directory of certificates that it makes",
    "testing/crash_states.py": "a directory in the state that a power cut leaves",
    "testing/fault_disks.py": "disks for the local store",
    "testing/gcs_double/gcs_server.py": "the directory with the log of the double",
    "testing/hadoop_programs.py": "the directory and the jars of programs that it starts",
    "testing/hdfs_pair.py": "the directory and the jars of an HDFS that it starts",
    "testing/hdfs_server.py": "the directory and the jars of an HDFS that it starts",
    "testing/kerberos_realm.py": "the directory and the programs of a realm that it starts",
    "testing/object_store_server.py": "the directory and the jar of a store that it starts",
    "testing/one_port_server.py": "the directory and the log of a server that it starts",
    "testing/proxy/waiting_requests.py": "large bodies of requests that are kept back",
    "testing/registry_server.py": "the directory and the archive of a registry that it starts",
    "testing/secured_broker.py": "the directory and the jars of a Kafka that it starts",
    "testing/secured_hdfs.py": "the directory and the jars of an HDFS that it starts",
    "testing/servers.py": "logs of child processes",
    "spark/": "jars, Java and the working directory of a JVM",
    "runtime/this_process.py": "what the system tells about a process",
    "datapath/formats/": "writers and readers of pyarrow, which get the files of a store",
    "ports/store/hdfs/hdfs_keytab.py": "the keytab that a user names",
    "ports/store/hdfs/hdfs_staged.py": "files that wait on the executor's own disk for their end",
    "ports/store/block_reading.py": "blocks of large objects that memory has no room for",
    "ports/store/s3/s3_staged.py": "the directory of what waits there, for the words of an error",
    "ports/store/gcs/gcs_staged.py": "the same of a file that waits there",
    "ports/store/spooled_writer.py": "files that wait on the executor's own disk",
    "datapath/rewrite/own_disk.py": "files that wait on the executor's own disk",
    "datapath/stage/spool.py": "rows that wait on the executor's own disk",
    "datapath/codec/shared/code_cache.py": "machine code that this machine has compiled",
    "datapath/codec/shared/code_locator.py": "the same, of one function",
    "datapath/codec/protobuf/schema_compiler/": "files that the compiler of Protobuf reads",
}

# Who may ask a `StoreSpec` for its address. Only the store knows whether that is a path.
ADDRESS = {
    "ports/store/": "a store opens what lies there",
    "config/location.py": "it reads the address",
    "config/store_settings.py": "it finds the settings that belong to an address",
    "model/store_spec.py": "it has the address",
}


def faults(path: str, source: str) -> list[str]:
    """What a module uses of local paths, unless it may."""
    tree = ast.parse(source)
    found = [] if _may(path, ALLOWED) else list(_path_faults(tree))
    found += [] if _may(path, ADDRESS) else list(_address_faults(tree))
    return [f"{path}:{line}: {fault}" for line, fault in sorted(found)]


def _may(path: str, table: dict[str, str]) -> bool:
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in table)


def _path_faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for use in uses(tree):
        if is_path_name(use.name):
            yield use.line, f"{use.name}: ask the store, or add the module to ALLOWED on purpose"


def is_path_name(name: str) -> bool:
    """True for a name that takes, gives or is a local path. `import os` alone does nothing."""
    harmless = name == "os" or any(reaches(name, each) for each in HARMLESS)
    return not harmless and any(reaches(name, each) for each in NAMES)


def _address_faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """`.address` anywhere, and `.uri` anywhere but in an f-string, which is read by a person.

    `.uri(key)` is the answer of a store, for other readers.
    """
    shown = {node.value for node in ast.walk(tree) if isinstance(node, ast.FormattedValue)}
    shown |= {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (
            node.attr == "address" or (node.attr == "uri" and node not in shown)
        ):
            yield node.lineno, f"{ast.unparse(node)}: only a store knows what its address means"


def test_only_the_local_store_knows_local_paths() -> None:
    found = [
        fault
        for file in sorted(PACKAGE.rglob("*.py"))
        for fault in faults(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


def test_every_allowed_place_exists_and_needs_to_be_allowed() -> None:
    for place in ALLOWED:
        files = [PACKAGE / place] if place.endswith(".py") else (PACKAGE / place).rglob("*.py")
        sources = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
        assert any(is_path_name(use.name) for tree in sources for use in uses(tree)), place


def test_commands_configuration_and_test_kits_are_allowed_one_module_at_a_time() -> None:
    rooms = ("cli/", "config/", "testing/")
    assert [place for place in ALLOWED if place in rooms or place == "cli/commands/"] == []


def opens_a_store_itself(source: str) -> bool:
    """True for code that imports the local store instead of asking `open_store` for one."""
    return any(reaches(use.name, LOCAL_STORE) for use in uses(ast.parse(source)))


def test_programs_and_benches_ask_open_store_for_their_store() -> None:
    own = PACKAGE / "ports/store/local"
    files = [*PACKAGE.rglob("*.py"), *(PACKAGE.parents[1] / "bench").rglob("*.py")]
    found = [
        file.name
        for file in files
        if own not in file.parents and opens_a_store_itself(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_planted_local_store_is_found() -> None:
    assert opens_a_store_itself(f"from {LOCAL_STORE} import LocalStore\nLocalStore(lake)")
    assert not opens_a_store_itself("store = open_store(local_spec(lake))")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("audit/lake_files.py", "from pathlib import Path\nPath(lake).rglob('*.parquet')"),
        ("care/compact.py", "import os\nos.rename(staged, final)"),
        ("care/compact.py", "from os import replace as put\nput(staged, final)"),
        ("care/clean.py", "import os\nos.stat(final)"),
        ("care/clean.py", "import os\nos.rmdir(staging)"),
        ("audit/deep.py", "from os import symlink\nsymlink(a, b)"),
        ("audit/check_file.py", "import io\nio.FileIO(final)"),
        ("audit/check_file.py", "import pyarrow as pa\npa.OSFile(final)"),
        ("audit/check_file.py", "import pyarrow as pa\npa.memory_map(final)"),
        ("care/replay.py", "from pyarrow import fs\nfs.LocalFileSystem()"),
        ("care/replay.py", "import pyarrow.fs as pafs\npafs.LocalFileSystem()"),
        ("audit/positions.py", "import pyarrow.parquet as pq\npq.read_table(path)"),
        ("care/compact.py", "from pyarrow.parquet import read_table\nread_table(path)"),
        ("care/compact.py", "from pyarrow import orc\norc.read_table(path)"),
        ("audit/positions.py", "from pyarrow import dataset as ds\nds.dataset(lake)"),
        ("protocol/publish/finisher.py", "open(final, 'rb').read()"),
        ("datapath/stage/open_file.py", "import tempfile\ntempfile.mkdtemp()"),
        ("feeds/runner.py", "import os.path\nos.path.exists(lake)"),
        ("protocol/journal/journal.py", "import shutil"),
        ("cli/commands/check.py", "from pathlib import Path"),
        ("cli/audit_report.py", "open('receipt')"),
        ("config/file_formats.py", "from pathlib import Path"),
        ("testing/list_source.py", "import tempfile"),
        ("cli/common.py", "Path(spec.lake.address).exists()"),
        ("cli/common.py", "place = reveal_store(spec.lake).address"),
        ("cli/common.py", "Path(spec.lake.uri).exists()"),
        ("demo/story.py", "Path(spec.lake.address)"),
        ("config/load.py", "os.listdir(spec.lake.address)"),
    ],
)
def test_a_planted_path_is_found(path: str, source: str) -> None:
    assert faults(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("audit/check_file.py", "file = store.open_read(order.final)"),
        ("datapath/formats/parquet/parquet.py", "reader = FORMAT.open(file)"),
        ("ports/store/local/disk.py", "import os\nos.link(staged, final)"),
        ("ports/store/local/local_store.py", "LocalStore(spec.address)"),
        ("feeds/running_feed.py", "import os\nos.getpid()\nos.environ['HOME']"),
        ("cli/commands/files.py", "print(store.uri(final))"),
        ("cli/common.py", "print(f'There is no lake at {spec.lake.uri!r} yet.')"),
    ],
)
def test_what_asks_a_store_passes(path: str, source: str) -> None:
    assert faults(path, source) == []
