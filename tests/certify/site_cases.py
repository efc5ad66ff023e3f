"""What a site does to its HDFS: name nodes take over from each other, and tickets expire."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

from hdfs_native import Client

from penstock.testing.hdfs_pair import SERVICE, HdfsPair
from penstock.testing.secured_hdfs import give_directory
from tests.certify.case import Case, Run
from tests.certify.counting import outcome
from tests.certify.data import Data
from tests.certify.oracle import Tally, decided, is_broken, tally_lake
from tests.certify.site_job import SiteJob, running
from tests.certify.table import Outcome
from tests.helpers.hdfs_servers import hdfs_parts, running_secured_hdfs
from tests.helpers.kerberos import new_realm

LEAST_WINDOWS = 20
LAKES = "lakes"
USER = "penstock"
TICKET_LIFE_S = 6
# For clients of this process, which would wait three minutes otherwise.
WAITS = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "200",
    "dfs.client.failover.sleep.max.millis": "2000",
}


def cases() -> Iterator[Case]:
    """One run each."""
    yield Case("HA1", ("HA1",), name_nodes_change_places, 90.0)
    yield Case("HA2", ("HA2",), a_frozen_name_node_is_left, 90.0)
    yield Case("KRB1", ("KRB1",), tickets_expire_in_mid_run, 90.0)


def name_nodes_change_places(run: Run) -> Outcome:
    """A planned fail-over, the death of the active name node, and the way back, in one run."""
    with HdfsPair(run.directory, *hdfs_parts()) as pair:

        def die() -> None:
            dead.append(pair.kill_active())
            pair.take_over()

        def come_back() -> None:
            pair.start_name_node(dead.pop())
            pair.fail_over()

        dead: list[str] = []
        data = produced(run)
        config_dir = str(pair.config_dir)
        client = Client(f"hdfs://{SERVICE}", WAITS, config_dir)
        job = a_job(run, data, f"hdfs://{SERVICE}/{run.word}", {"config_dir": config_dir}, client)
        return through(run, job, pair.fail_over, die, come_back)


def a_frozen_name_node_is_left(run: Run) -> Outcome:
    """The active name node answers nothing any more, as one whose host is gone; another takes over.

    Nobody is refused anything: the client would wait for it without end.
    """
    with HdfsPair(run.directory, *hdfs_parts()) as pair:
        data = produced(run)
        settings = {"config_dir": str(pair.config_dir), "request_timeout": "3s"}
        first = pair.active or ""
        counting = Client(pair.url_of(first), WAITS)
        job = a_job(run, data, f"hdfs://{SERVICE}/{run.word}", settings, counting)
        with running(job) as child:
            child.await_more_files()
            pair.freeze_active()
            pair.take_over()
            problems = ["all was delivered before it froze"] if child.is_over else []
            other = pair.active or first
            problems += ["nobody has taken over"] if other == first else []
            problems.append(child.end())
        pair.kill_name_node(first)
        left = replace(job, client=Client(pair.url_of(other), WAITS))
        return counted(run, left, problems)


def tickets_expire_in_mid_run(run: Run) -> Outcome:
    """Tickets of six seconds, and a name node that ends all connections by restarting, twice."""
    with new_realm(run.directory / "realm") as realm, known_here(realm.environment):
        keytab = str(realm.add(USER, ticket_life_s=TICKET_LIFE_S))
        with running_secured_hdfs(run.directory / "hdfs", realm) as hdfs:
            give_directory(hdfs, realm, LAKES, USER)

            def restart() -> None:
                hdfs.kill_name_node()
                hdfs.start_name_node()

            client = Client(
                hdfs.url,
                WAITS,
                str(hdfs.config_dir),
                kerberos_principal=USER,
                kerberos_keytab=keytab,
            )
            lake = f"{hdfs.url}/{LAKES}/{run.word}"
            settings = {"keytab": keytab}
            job = a_job(run, produced(run), lake, settings, client, realm.environment)
            return through(run, job, restart, restart)


def produced(run: Run) -> Data:
    """A topic with data of this run's seed."""
    data = Data.drawn(run.chance, run.word)
    data.produce(run.parts.client, run.chance)
    return data


def a_job(
    run: Run,
    data: Data,
    lake: str,
    settings: dict[str, str],
    client: Client,
    environment: dict[str, str] | None = None,
) -> SiteJob:
    """A feed of many small windows, so that there is a middle."""
    return SiteJob(
        run.directory,
        run.parts.kafka.bootstrap,
        data.topic,
        lake,
        settings,
        max(sum(data.counts) // LEAST_WINDOWS, 1),
        client,
        environment or {},
    )


def through(run: Run, job: SiteJob, *acts: Callable[[], None]) -> Outcome:
    """Do each act while the feed is in the middle of its work; it must go on to its end."""
    with running(job) as child:
        for act in acts:
            child.await_more_files()
            act()
        problems = ["all was delivered before the last act was over"] if child.is_over else []
        problems.append(child.end())
    return counted(run, job, problems)


def counted(run: Run, job: SiteJob, problems: list[str]) -> Outcome:
    """Count on a copy, and recover once more, which must change nothing."""
    copy = job.mirror()
    tally = tally_lake(run.parts, copy, broken=is_broken)
    before = job.data_files(), decided(copy)
    with running(job) as again:
        problems.append(again.end())
    if (job.data_files(), decided(job.mirror())) != before:
        problems.append("a second recovery changed something")
    return outcome(tally + Tally(problems=tuple(each for each in problems if each)))


@contextmanager
def known_here(variables: dict[str, str]) -> Iterator[None]:
    """These variables in this process, too."""
    with mock.patch.dict(os.environ, variables):
        yield
