"""Sweeps on worker processes, some of which are killed: nothing is lost, and the results equal those of an undisturbed run."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import dovetail.sweep
import pytest
from dovetail.sweep import EngineError
from dovetail.sweep.store import files
from fakes import canonical, points, run

#: How long something may take that is waited for.
_PATIENCE_S = 120

#: Dask takes its time until killed workers are replaced, and more of it on a busy machine.
takes_long = pytest.mark.skipif("DOVETAIL_LONG" not in os.environ, reason="waits for Dask to replace workers: DOVETAIL_LONG=1 runs it")


def sweep(grid, out, **more):
    options = {"progress": False, "runner": run, "canonical": canonical, **more}
    return dovetail.sweep(grid, out=out, **options)


def until(condition):
    """Waits for what happens elsewhere."""
    end = time.monotonic() + _PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found


def bytes_of(results, path):
    results.write(path)
    return path.read_bytes()


@pytest.fixture
def undisturbed(tmp_path):
    """The table of a grid in which no scenario says what is special about the run."""

    def table(grid):
        with ThreadPoolExecutor(1) as pool:
            return bytes_of(sweep(grid, tmp_path / "undisturbed", client=pool), tmp_path / "undisturbed.parquet")

    return table


def test_executors_of_all_kinds_and_dask_give_equal_bytes(tmp_path, client, undisturbed):
    expected = undisturbed(points())
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for name, engine in {"threads": threads, "processes": processes, "dask": client}.items():
            results = sweep(points(), tmp_path / name, client=engine)
            assert bytes_of(results, tmp_path / f"{name}.parquet") == expected


@takes_long
def test_a_worker_that_is_killed_loses_nothing(tmp_path, client, undisturbed):
    log, killed = tmp_path / "log", []

    def kill():
        until(lambda: log.exists() and len(log.read_text().splitlines()) > 20)
        pid = int(log.read_text().split()[-1])
        assert pid != os.getpid()
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    grid = points(scenario={"sleep_s": 0.02, "log": str(log)})
    results = sweep(grid, tmp_path / "out", client=client)
    killer.join()
    assert killed and len(results) == 80 and results.failures.num_rows == 0
    assert bytes_of(results, tmp_path / "killed.parquet") == undisturbed(grid)


@takes_long
def test_a_point_that_kills_its_worker_once_is_run_again(tmp_path, client):
    grid = points(scenario={"deadly_once": {"seed": 5, "note": str(tmp_path / "note")}})
    results = sweep(grid, tmp_path / "out", client=client)
    assert (tmp_path / "note").exists() and len(results) == 80 and results.failures.num_rows == 0


@takes_long
def test_a_point_that_kills_every_worker_fails_and_no_other_does(tmp_path, client):
    results = sweep(points(scenario={"deadly": [5]}, policy="drfq"), tmp_path / "out", client=client)
    assert results.failures["seed"].to_pylist() == [5]
    assert "every worker that ran this point died" in results.failures["error"][0].as_py()
    assert len(results) == 39


def test_an_executor_that_loses_a_process_says_how_to_go_on(tmp_path):
    grid = points(scenario={"deadly_once": {"seed": 30, "note": str(tmp_path / "note")}, "sleep_s": 0.05})
    spawn = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool, pytest.raises(EngineError, match=r"continue with --resume \(resume=True\), or use Dask"):
        sweep(grid, tmp_path / "out", client=pool)
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        assert len(sweep(grid, tmp_path / "out", client=pool, resume=True)) == 80


def test_an_executor_that_was_shut_down_is_an_error(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(EngineError, match="takes no more work"):
        sweep(points(), tmp_path / "out", client=pool)


def test_a_client_that_was_closed_is_an_error(tmp_path, client):
    from distributed import Client

    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(EngineError, match="client is closed"):
        sweep(points(), tmp_path / "out", client=other)


@takes_long
def test_a_client_that_is_closed_meanwhile_is_an_error(tmp_path, client):
    from distributed import Client

    other, log = Client(client.scheduler.address, set_as_default=False), tmp_path / "log"
    # Those that were killed before may not be back yet.
    other.wait_for_workers(2, timeout=_PATIENCE_S)

    def close():
        until(log.exists)
        other.close()

    closer = threading.Thread(target=close)
    closer.start()
    grid = points(scenario={"sleep_s": 0.05, "log": str(log)})
    with pytest.raises(EngineError, match="continue with --resume"):
        sweep(grid, tmp_path / "out", client=other)
    closer.join()
    assert len(sweep(grid, tmp_path / "out", client=client, resume=True)) == 80


def test_a_scheduler_that_is_not_there_is_an_error():
    from dovetail.sweep.dask_engine import connect

    with pytest.raises(EngineError, match="cannot reach a Dask scheduler at tcp://127.0.0.1:1"):
        connect("tcp://127.0.0.1:1")


def test_the_dashboard_s_address_is_printed_where_it_runs(tmp_path):
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr"\nseed = [1, 2]\nset.duration = "10ms"\n')
    command = [sys.executable, "-m", "dovetail.sweep.command", "grid.toml", "--out", "out", "--jobs", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = re.findall(r"^dashboard: http://127\.0\.0\.1:\d+/status$", done.stderr, re.MULTILINE)
    assert len(printed) == (importlib.util.find_spec("bokeh") is not None), done.stderr


def test_the_dashboard_is_one_that_answers(client):
    pytest.importorskip("bokeh")
    from dovetail.sweep.dask_engine import DaskEngine

    link = DaskEngine(client, run).dashboard()
    with urllib.request.urlopen(link, timeout=_PATIENCE_S) as page:
        assert b"Dask" in page.read()


def test_a_scheduler_without_a_dashboard_has_no_address(client, monkeypatch):
    """What its server answers there without bokeh: that there is no such page."""
    from dovetail.sweep.dask_engine import DaskEngine

    engine = DaskEngine(client, run)
    monkeypatch.setattr(type(client), "dashboard_link", client.dashboard_link.replace("/status", "/no-such-page"))
    assert engine.dashboard() is None
    monkeypatch.setattr(type(client), "dashboard_link", "")
    assert engine.dashboard() is None


def test_workers_of_another_version_are_refused(tmp_path, client, monkeypatch):
    monkeypatch.setattr("dovetail.sweep.run.version", lambda: "0.0.0")
    with pytest.raises(EngineError, match="has Dovetail .*, the coordinator 0.0.0: install the same"):
        sweep(points(), tmp_path / "out", client=client)


_COORDINATOR = """\
import sys
from fakes import canonical, points, run
import dovetail.sweep
if __name__ == "__main__":
    grid = points(scenario={"sleep_s": 0.03}, seed="1..100")
    dovetail.sweep(grid, out=sys.argv[1], jobs=2, progress=False, runner=run, canonical=canonical)
"""


def test_a_coordinator_that_is_killed_is_resumed(tmp_path, client, undisturbed):
    script, out = tmp_path / "coordinator.py", tmp_path / "out"
    script.write_text(_COORDINATOR)
    coordinator = subprocess.Popen([sys.executable, script, out])
    try:
        until(lambda: len(list(files(out, "results"))) > 1)
    finally:
        coordinator.kill()
        coordinator.wait()
    stored = len(dovetail.sweep.load(out))
    assert 0 < stored < 200
    grid = points(scenario={"sleep_s": 0.03}, seed="1..100")
    results = sweep(grid, out, client=client, resume=True)
    assert len(results) == 200
    assert bytes_of(results, tmp_path / "resumed.parquet") == undisturbed(grid)


def captures(folder, count):
    folder.mkdir()
    for number in range(count):
        # Larger than one piece.
        (folder / f"{number}.pcap").write_bytes(bytes([number]) * (5 << 20))
    return str(folder / "*.pcap")


def test_captures_are_used_where_they_are(tmp_path, client, undisturbed, monkeypatch):
    grid = points(capture=captures(tmp_path / "captures", 3), seed=[1, 2])
    results = sweep(grid, tmp_path / "out", client=client)
    assert len(results) == 12 and set(results.table["capture"].to_pylist()) == {"0.pcap", "1.pcap", "2.pcap"}
    assert bytes_of(results, tmp_path / "dask.parquet") == undisturbed(grid)


def test_captures_are_sent_once_to_nodes_that_do_not_have_them(tmp_path, undisturbed):
    """Two workers see an empty folder where the captures are: a mount namespace takes the place of another node."""
    from distributed import Client, LocalCluster

    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot make a mount namespace")
    grid = points(capture=captures(tmp_path / "captures", 3), seed="1..8")
    expected = undisturbed(grid)
    kept = tmp_path / "node"
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, Client(cluster, set_as_default=False) as other:
        hidden = 'mount -t tmpfs none "$1" && exec "$2" -m distributed.cli.dask_worker "$3" --nthreads 1 --no-dashboard --local-directory "$4"'
        command = ["unshare", "--mount", "sh", "-c", hidden, "sh", str(tmp_path / "captures"), sys.executable,
                   cluster.scheduler_address, str(tmp_path / "scratch")]
        environment = {**os.environ, "DOVETAIL_CAPTURES": str(kept)}
        with open(tmp_path / "workers.log", "w") as log:
            workers = [subprocess.Popen(command, env=environment, stdout=log, stderr=log) for _ in range(2)]
        try:
            other.wait_for_workers(2, timeout=_PATIENCE_S)
            results = sweep(grid, tmp_path / "out", client=other)
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()
    assert bytes_of(results, tmp_path / "sent.parquet") == expected
    assert sorted(path.name for path in kept.iterdir()) == sorted(capture_digests(tmp_path / "captures"))


def capture_digests(folder: Path):
    from dovetail.sweep.captures import find

    return [capture.digest for capture in find(["*.pcap"], folder)]


def test_an_executor_whose_workers_cannot_read_a_capture_says_so(tmp_path):
    from dovetail.sweep import node

    grid = points(capture=captures(tmp_path / "captures", 1))
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(node, "locate", lambda capture: None)
        with pytest.raises(EngineError, match="cannot read .*0.pcap, and files cannot be sent through an executor"):
            sweep(grid, tmp_path / "out", client=pool)
