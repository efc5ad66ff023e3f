"""The demo without its broker: events, directory, screen, page, queries."""

import io
import json
import os
import shlex
import subprocess
import sys
import threading
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.cli.main import main
from penstock.demo.acts import _Watched
from penstock.demo.count import Tally
from penstock.demo.errors import DemoDifference, DemoRefused
from penstock.demo.events import BROKEN, DAY_MS, DAYS, PARTITIONS, TOMBSTONES, TYPES, Topic
from penstock.demo.page import Facts, Period, page, receipt_lines
from penstock.demo.place import Place, prepare
from penstock.demo.queries import python_here, query_lines
from penstock.demo.screen import Screen
from penstock.demo.serve import server_for
from penstock.demo.story import Ending, at_the_kill, judged, show
from penstock.demo.watch import DirectoryOnlooker, Sight

TOPIC = Topic(records=4_000, first_day_ms=DAY_MS * 20_000)


def records() -> list[bytes | None]:
    return [record.value for p in range(PARTITIONS) for record in TOPIC.of_partition(p)]


def test_the_same_seed_makes_the_same_events_and_another_one_others() -> None:
    assert list(TOPIC.of_partition(2)) == list(TOPIC.of_partition(2))
    other = Topic(TOPIC.records, TOPIC.first_day_ms, seed=7)
    assert list(TOPIC.of_partition(2)) != list(other.of_partition(2))


def test_the_topic_has_every_type_every_day_and_the_odd_ones_it_says() -> None:
    values = records()
    assert len(values) == TOPIC.records
    assert values.count(None) == TOMBSTONES == TOPIC.odd_ones()["tombstone"]
    good = []
    for value in values:
        try:
            good.append(json.loads(value or b""))
        except ValueError:  # cut off, not UTF-8, or no value
            continue
    in_time = [event for event in good if event["event_time"] // DAY_MS < 20_000 + DAYS]
    assert {event.get("type") for event in good} == {*TYPES, None}
    assert {event["event_time"] // DAY_MS - 20_000 for event in in_time} == set(range(DAYS))
    assert len(good) - len(in_time) == BROKEN["from the future"].many
    unreadable = BROKEN["cut off"].many + BROKEN["not UTF-8"].many + TOMBSTONES
    assert TOPIC.records - len(good) == unreadable
    ids = Counter(event["id"] for event in good)
    assert max(ids.values()) == 1


def test_events_come_late_and_early() -> None:
    times = [
        msgspec.json.decode(record.value, type=dict)["event_time"]
        for record in list(TOPIC.of_partition(0))[:200]
        if record.value is not None and record.value.endswith(b"}") and b"\xe9" not in record.value
    ]
    assert times != sorted(times)


def test_a_new_directory_is_made_and_an_old_demo_is_replaced(tmp_path: Path) -> None:
    place, replaced = prepare(tmp_path / "a" / "demo")
    assert not replaced
    place.write_config("127.0.0.1:1", 100)
    place.lake.mkdir()
    again, replaced = prepare(tmp_path / "a" / "demo")
    assert replaced
    assert not again.config.exists()
    again.remove()
    assert not again.root.exists()


@pytest.mark.parametrize("stranger", ["mine.txt", "lake/x"])
def test_a_directory_with_anything_else_is_refused_and_untouched(
    tmp_path: Path, stranger: str
) -> None:
    (tmp_path / stranger).parent.mkdir(exist_ok=True)
    (tmp_path / stranger).write_text("precious")
    with pytest.raises(DemoRefused, match="--dir"):
        prepare(tmp_path)
    assert (tmp_path / stranger).read_text() == "precious"


def test_a_demo_with_a_file_of_the_users_in_it_is_refused(tmp_path: Path) -> None:
    place, _ = prepare(tmp_path / "demo")
    (place.root / "notes.txt").write_text("precious")
    with pytest.raises(DemoRefused, match=r"notes\.txt"):
        prepare(tmp_path / "demo")


def test_a_demo_that_runs_is_not_replaced(tmp_path: Path) -> None:
    place, _ = prepare(tmp_path / "demo")
    (place.root / ".penstock-demo").write_text(f"{os.getppid()}\n")
    with pytest.raises(DemoRefused, match=str(os.getppid())):
        prepare(tmp_path / "demo")


@pytest.mark.parametrize("words", [["--records", "10"], ["--records", "99999999"], ["--dir", "f"]])
def test_what_cannot_be_done_is_said_before_anything_starts(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("a file")
    assert main(["demo", *words]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_without_the_client_the_demo_says_what_to_install(tmp_path: Path) -> None:
    """Goal: an installation without development parts gets a sentence. Method: hide the package."""
    code = (
        "import sys; sys.modules['confluent_kafka'] = None; "
        "from penstock.cli.main import main; sys.exit(main(['demo']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "DEMO_PARTS_MISSING" in ran.stderr
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """An output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_plain_lines_and_no_moving_one() -> None:
    out = io.StringIO()
    screen = Screen(out, lambda: 0.0, colour=True)
    screen.step("begin")
    screen.progress("half", 1, 2)
    screen.alarm("kill")
    screen.close()
    assert out.getvalue() == "\n  0.0 s  begin\n  0.0 s  kill\n"


def test_a_terminal_gets_colours_unless_they_are_not_wanted_and_no_line_is_too_long() -> None:
    for colour in (True, False):
        out = Terminal()
        screen = Screen(out, lambda: 0.0, width=80, colour=colour)
        screen.progress("x" * 200, 1, 2)
        screen.verdict("0 lost", is_good=True)
        assert ("\x1b[32m" in out.getvalue()) is colour
        moving = out.getvalue().split("\r\x1b[2K")[1]
        assert len(moving) < 80


def test_a_long_sentence_is_told_on_several_lines_of_the_width() -> None:
    out = io.StringIO()
    screen = Screen(out, lambda: 0.0, width=60)
    screen.alarm("waiting for Kafka at 127.0.0.1:15153: no answer yet; it has until 17:46:20")
    lines = out.getvalue().splitlines()
    assert lines[0] == "  0.0 s  waiting for Kafka at 127.0.0.1:15153: no answer"
    assert lines[1] == "         yet; it has until 17:46:20"


def test_the_demo_says_that_decoders_are_compiled() -> None:
    """On a new machine the first window waits for a minute, and nothing else moves."""
    out = io.StringIO()
    watched = object.__new__(_Watched)
    watched._scene = SimpleNamespace(screen=Screen(out, lambda: 0.0))  # type: ignore[assignment]
    watched._note({"feed": "", "event": "compiling", "message": "compiling the decoders"})
    assert out.getvalue() == "  0.0 s  compiling the decoders\n"


def test_without_java_an_earlier_demo_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, _ = prepare(tmp_path / "demo")
    place.lake.mkdir()
    place.let_go()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert main(["demo", "--dir", str(tmp_path / "demo")]) == 2
    assert "JAVA_MISSING" in capsys.readouterr().err
    assert place.lake.is_dir()


def test_what_the_output_cannot_carry_is_escaped() -> None:
    raw = io.BytesIO()
    screen = Screen(io.TextIOWrapper(raw, encoding="ascii"), lambda: 0.0)
    screen.plain("Kraków")
    assert raw.getvalue() == b"Krak\\xf3w\n"


FACTS = Facts(
    tally=Tally(records=5, written=3, quarantined=1, filtered=1),
    landed={("<b>", "2026-11-09"): 2, ("order", "2026-11-10"): 1},
    reasons={"NOT_JSON": 1},
    periods=(Period("1-1", 1.0, 2.0, "delivered", 5), Period("1-2", 2.0, 3.0, "killed")),
    killed_s=3.0,
    restarted_s=3.1,
    took_s=9.0,
    at_the_kill="Killed with 1 windows done.",
    receipt=["verdict    ok"],
    audit_is_clean=True,
    queries={"duckdb": "python -c 'x < 1'"},
)


def test_the_page_is_one_file_that_asks_nobody_and_escapes_what_events_say() -> None:
    text = page(FACTS)
    assert "0 lost, 0 doubled" in text
    assert text.count("<svg") == text.count("</svg>") == 5
    assert "<b>" not in text
    assert "<script" not in text
    assert "x &lt; 1" in text
    assert set(text.split("http")[1:]) == {p for p in text.split("http")[1:] if "w3.org/2000" in p}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tally": Tally(5, 2, 1, 1, lost=((0, 3),))}, "1 lost, 0 doubled: events/0/3"),
        ({"audit_is_clean": False}, "audit"),
    ],
)
def test_a_difference_ends_with_exit_code_4(changes: dict[str, object], words: str) -> None:
    known = {name: getattr(FACTS, name) for name in Facts.__dataclass_fields__}
    ending = Ending(Place(Path("demo")), Facts(**(known | changes)))
    with pytest.raises(DemoDifference, match=words) as raised:
        judged(ending)
    assert raised.value.exit_code == 4
    judged(Ending(Place(Path("demo")), FACTS))


def test_the_verdict_stands_on_a_line_of_its_own() -> None:
    """Scripts look for this very line."""
    out = io.StringIO()
    screen = Screen(out, lambda: 0.0)
    show(Ending(Place(Path("demo")), FACTS), screen, kept=False)
    assert out.getvalue().splitlines()[-3:] == [
        "0 lost, 0 doubled",
        "5 records in Kafka = 3 rows + 1 quarantined + 1 filtered",
        "0 s in all",
    ]


def test_the_receipt_fits_beside_the_time_in_80_columns() -> None:
    receipt = {
        "feed": "events", "entries": 14, "epoch": 2, "windows": 10, "read": 5_000_000,
        "written": 4_999_916, "quarantined": 60, "filtered": 24, "empty": 0, "given_up": 0,
        "files": 1909, "size_bytes": 5_985_920_000, "pending": [], "differences": [],
        "verdict": "ok",
        "deep": {"files": 1909, "rows": 4_999_976, "kafka": {"records": 5_000_000, "agreed": 0}},
    }  # fmt: skip
    assert max(map(len, receipt_lines(receipt))) <= 71
    assert len(receipt_lines(receipt)) == len(receipt_lines(receipt | {"deep": None})) + 2


def test_what_lay_there_at_the_kill_is_told_as_it_was() -> None:
    staged = Sight(("1-1",), (), ("1-2",), 9, 1_000)
    assert at_the_kill(staged) == [
        "1 window done, 1,000 rows visible",
        "9 staged files that no reader sees",
    ]
    decided = Sight(("1-1",), ("1-2",), ("1-2",), 4, 1_500)
    assert "window 1-2 decided, and not all of it visible yet" in at_the_kill(decided)


def test_the_onlooker_knows_what_is_done_decided_and_in_flight(tmp_path: Path) -> None:
    own = tmp_path / "_penstock" / "events"
    for number, body in enumerate([{"kind": "claim"}, window("1-1"), window("1-2")]):
        write(own / f"journal/0/{number:020}.json", json.dumps({"body": body}))
    write(own / f"done/0/{1:020}.json", "{}")
    for spot in ("1-2/a", "1-10/a", "1-10/b"):
        write(own / f"staging/{spot}.staged", "")
    sight = DirectoryOnlooker(tmp_path, "events").look_closely()
    assert sight == Sight(("1-1",), ("1-2",), ("1-2", "1-10"), 3, 0)
    assert sight.in_flight == "1-10"
    assert Sight((), ("1-2",), ("1-2",), 1).in_flight == ""


def window(name: str) -> dict[str, str]:
    return {"kind": "window", "window": name}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_query_lines_survive_odd_directories(tmp_path: Path) -> None:
    feed = tmp_path / 'it\'s a "lake" $HOME' / "events"
    for line in query_lines(feed).values():
        program, flag, code = shlex.split(line)
        assert (program, flag) == (python_here(), "-c")
        compile(code, "query", "exec")
        assert str(feed / "order").replace('"', '\\"') in code


@pytest.mark.parametrize("name", ["plain", "a[1]", "b*c", "d?e", "f[", "g{h}", "i!j"])
def test_the_line_for_duckdb_finds_the_files_below_names_that_look_like_patterns(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    feed = tmp_path / name / "lake" / "events"
    for folder in (feed / "order" / f"day=2026-11-{day}" for day in ("09", "10")):
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"amount": [1.5]}), folder / "x.parquet")
    exec(shlex.split(query_lines(feed)["duckdb"])[2], {})
    assert capsys.readouterr().out.count("2026-11-") == 2


def test_only_the_page_is_served(tmp_path: Path) -> None:
    file = tmp_path / "demo.html"
    file.write_text("hello")
    with server_for(file) as first, server_for(file) as second:
        assert first.server_address[0] == "127.0.0.1"
        assert first.server_port != second.server_port
        threading.Thread(target=second.serve_forever, args=(0.01,), daemon=True).start()
        answers = {path: answer(second.server_port, path) for path in ("/", "/?x", "/demo.html")}
        second.shutdown()
    assert answers == {"/": (200, b"hello"), "/?x": (200, b"hello"), "/demo.html": (404, b"")}


def answer(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    found = connection.getresponse()
    return found.status, found.read()
