"""`penstock run --serve` with a real Kafka and Spark: metrics meanwhile, and a file at its end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.http_asking import ask, ask_until, dial
from tests.helpers.prometheus import eventually, promtool
from tests.integration.lakes import an_event
from tests.integration.processes import Job

pytestmark = pytest.mark.xdist_group("processes")

RECORDS = 200
BROKEN = sum(number % 50 == 13 for number in range(RECORDS))


@contextmanager
def running(job: Job, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The run in a process of its own: where it answers, and the process."""
    command = [sys.executable, "-m", "penstock", "run", "-c", str(job.write()), *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stderr is not None
            events = (json.loads(line) for line in process.stderr)
            yield next(each["url"] for each in events if each["event"] == "serving"), process
        finally:
            process.kill()


def figures(text: bytes) -> dict[str, float]:
    """The samples of a text, by name and labels."""
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_a_run_answers_while_it_works_and_leaves_its_metrics_in_a_file(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("serving", partitions=2)
    client.produce("serving", 0, [an_event(number) for number in range(RECORDS)])
    file = tmp_path / "penstock.prom"
    job = Job(tmp_path, kafka.bootstrap, "serving", max_records=100)
    feed = 'feed="events"'
    with running(job, "--serve", "--port", "0", "--metrics-file", str(file)) as (url, process):
        assert ask(url, "/livez").status == 200
        assert ask_until(url, "/readyz", 200, within_s=120).json["feeds"] == {"events": "running"}
        found = eventually(
            lambda: figures(ask(url, "/metrics").body),
            lambda seen: (
                seen.get(f"penstock_decided_offset{{{feed}}}") == RECORDS
                and seen.get(f"penstock_lag_records{{{feed}}}") == 0
            ),
        )
        assert found[f"penstock_records_read_total{{{feed}}}"] == RECORDS
        by_reason = (
            f'penstock_records_quarantined_total{{dataset="_none",{feed},reason="NOT_JSON"}}'
        )
        assert found[by_reason] == BROKEN
        assert found[f"penstock_kafka_end_offset{{{feed}}}"] == RECORDS
        assert found[f"penstock_owner_alive{{{feed}}}"] == 1
        assert found[f'penstock_windows_total{{{feed},outcome="delivered"}}'] >= 2
        assert found[f'penstock_window_seconds_count{{{feed},phase="stage"}}'] >= 2
        assert found[f'penstock_publish_attempts_total{{dataset="click",{feed}}}'] >= 2
        assert found[f'penstock_publish_failures_total{{dataset="click",{feed}}}'] == 0
        # The broker keeps records for a week, unless a topic says otherwise.
        assert found[f"penstock_retention_headroom_seconds{{{feed}}}"] == 7 * 86400
        promtool("check", "metrics", given=ask(url, "/metrics?partitions=1").body)
        assert ask(url, "/api/feeds/events/errors").json["records"] == BROKEN
        with dial(url) as slow:
            slow.sendall(b"GET /metrics HTTP/1.1\r\n")  # and nothing more
            process.terminate()
            assert process.wait(60) == 0
    last = figures(file.read_bytes())
    assert last[f"penstock_records_read_total{{{feed}}}"] == RECORDS
    assert last[f"penstock_lag_records{{{feed}}}"] == 0
    assert last[f"penstock_owner_alive{{{feed}}}"] == 0, "it was written after the feed was let go"
    assert last[f'penstock_window_seconds_count{{{feed},phase="publish"}}'] >= 2
    promtool("check", "metrics", given=file.read_bytes())
