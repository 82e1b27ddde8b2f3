"""The command as it is installed: what it refuses, and what it says when its output cannot be written."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dovetail
import pyarrow as pa
import pytest

_SCRIPT = str(Path(sys.executable).parent / "dovetail")
_FULL = Path("/dev/full")


def command(*arguments, cwd=None, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run([sys.executable, "-m", "dovetail", *arguments], cwd=cwd, text=True, check=False, **pipes)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with a grid and its results, from the command itself."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr"\nseed = [1, 2]\nset.duration = "10ms"\n')
    done = command("sweep", "grid.toml", "--out", "out", "--jobs", "1", cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith("out: 2 points"), done.stderr
    return folder


@pytest.mark.parametrize("installed", [[_SCRIPT], [sys.executable, "-m", "dovetail"]])
@pytest.mark.parametrize("arguments", [["sweep", "--help"], ["help", "sweep"]])
def test_the_installed_command_has_sweeps(installed, arguments):
    said = subprocess.run([*installed, *arguments], capture_output=True, text=True, check=False)
    assert said.returncode == 0 and said.stdout.startswith("usage: dovetail sweep"), said.stderr


def test_what_is_stored_is_shown(results):
    said = command("sweep", "--out", "out", "--table", "throughput_mbps", cwd=results)
    assert said.returncode == 0 and "throughput_mbps" in said.stdout, said.stderr


def test_large_medians_are_shown_in_full():
    from dovetail.sweep.command import _aligned

    table = pa.table({"policy": ["drr", "fifo"], "dropped": [41215.5, None], "dropped.p5": [40999, 7], "p99": [254.71, 9999.6]})
    assert _aligned(table) == ("policy  dropped  dropped.p5    p99\n"
                               "   drr    41216       40999  254.7\n"
                               "  fifo        –           7  10000")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["grid.toml", "--scheduler", "head"], "'head' is not the address of a scheduler"),
        (["grid.toml", "--scheduler", "tcp://head"], "is not the address of a scheduler"),
        (["grid.toml", "--scheduler", "tcp://head:port"], "is not the address of a scheduler"),
        (["grid.toml", "--scheduler", "http://head:8786"], "is not the address of a scheduler"),
        (["--plot", "seed,p99", "--plot-file", "chart.pdf"], "does not end in .svg, .png or .html"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(tmp_path, arguments, why):
    said = command("sweep", "--out", "out", *arguments, cwd=tmp_path)
    assert said.returncode == 2 and why in said.stderr and not (tmp_path / "out").exists(), said.stderr


@pytest.mark.parametrize("name", ["grid.toml", "grid.csv"])
def test_a_policy_that_does_not_exist_is_refused_before_anything_runs(tmp_path, name):
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = ["drr", "fiffo"]\n')
    (tmp_path / "grid.csv").write_text("scenario,policy\nmiddlebox,drr\nmiddlebox,fiffo\n")
    said = command("sweep", name, "--out", "out", cwd=tmp_path)
    assert said.returncode == 2 and "'fiffo' (did you mean fifo?)" in said.stderr, said.stderr
    assert not (tmp_path / "out").exists()


def test_a_sweep_knows_the_policies_that_a_run_knows():
    from dovetail.sweep.known import _names

    with pytest.raises(ValueError, match="unknown policy") as refused:
        dovetail.simulate("middlebox", ["no-such-policy-at-all"])
    assert set(str(refused.value).split("vailable are ")[1].split(", ")) == set(_names())


def test_without_pyarrow_a_sweep_says_what_to_install(tmp_path):
    script = ("import sys; sys.modules['pyarrow'] = None\nimport dovetail\n"
              "if __name__ == '__main__':\n    dovetail.sweep({'scenario': 'middlebox', 'policy': 'drr'}, out='out')\n")
    said = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "pip install 'dovetail-sched[sweep]'" in said.stderr.strip().splitlines()[-1], said.stderr
    assert not (tmp_path / "out").exists()


def test_tables_of_scenarios_with_and_without_a_load_are_one_table(tmp_path):
    (tmp_path / "grid.toml").write_text(
        'scenario = ["middlebox", "three-resources"]\npolicy = "drr"\nset.duration = "10ms"\nset.load = 1.1\n')
    (tmp_path / "less.toml").write_text('scenario = "middlebox"\npolicy = "fifo"\nset.duration = "10ms"\n')
    for arguments in (["grid.toml"], ["less.toml", "--resume"]):
        done = command("sweep", *arguments, "--out", "out", "--jobs", "1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    said = command("sweep", "--out", "out", "--table", "throughput_mbps", cwd=tmp_path)
    assert said.returncode == 0 and "throughput_mbps" in said.stdout, said.stderr


def test_a_script_without_a_guard_is_told_of_it_and_leaves_no_folder(tmp_path):
    script = tmp_path / "script.py"
    script.write_text('import dovetail\ndovetail.sweep({"scenario": "middlebox", "policy": "fifo"}, out="out", jobs=1)\n')
    said = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 1 and '`if __name__ == "__main__":`' in said.stderr.strip().splitlines()[-1], said.stderr
    assert len(said.stderr.splitlines()) < 30, said.stderr
    assert not (tmp_path / "out").exists()


def test_a_reader_that_closes_the_pipe_is_no_error(results):
    arguments = [sys.executable, "-m", "dovetail", "sweep", "--out", "out", "--table", "throughput_mbps"]
    with subprocess.Popen(arguments, cwd=results, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.skipif(not _FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(results):
    with _FULL.open("w") as full:
        said = command("sweep", "--out", "out", "--table", "throughput_mbps", cwd=results, stdout=full)
    assert (said.returncode, said.stderr) == (1, "dovetail: the output: No space left on device\n")


def test_a_figure_that_cannot_be_written_is_one_line(results):
    pytest.importorskip("altair")
    said = command("sweep", "--out", "out", "--plot", "seed,throughput_mbps", "--plot-file", "none/chart.html", cwd=results)
    assert (said.returncode, said.stderr) == (1, "dovetail: none/chart.html: there is no folder none: create it\n")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("none/chart.html", "there is no folder none: create it"),
        ("folder.html", "it is a folder"),
        ("out/chart.html", "out has a sweep's files and no others: name another folder"),
    ],
)
def test_where_no_figure_can_be_written_is_refused_before_anything_runs(tmp_path, path, why):
    pytest.importorskip("altair")
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr"\nset.duration = "10ms"\n')
    (tmp_path / "folder.html").mkdir()
    drawn = ["--plot", "policy,throughput_mbps", "--plot-file", path]
    said = command("sweep", "grid.toml", "--out", "out", "--jobs", "1", *drawn, cwd=tmp_path)
    assert (said.returncode, said.stderr) == (1, f"dovetail: {path}: {why}\n")
    assert not (tmp_path / "out").exists()


def test_points_that_failed_are_told_even_if_the_reader_is_gone(tmp_path):
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr:quantum=none"\nset.duration = "10ms"\n')
    arguments = [sys.executable, "-m", "dovetail", "sweep", "grid.toml", "--out", "out", "--jobs", "1"]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1 and b"Traceback" not in errors, errors


def test_where_every_point_failed_there_are_no_results_to_show(tmp_path):
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr:quantum=none"\nset.duration = "10ms"\n')
    assert command("sweep", "grid.toml", "--out", "out", "--jobs", "1", cwd=tmp_path).returncode == 1
    said = command("sweep", "--out", "out", "--table", "throughput_mbps", cwd=tmp_path)
    assert (said.returncode, said.stderr) == (1, "dovetail: out has no results yet: 1 of its points failed\n")


def test_a_terminals_interrupt_is_one_line(tmp_path):
    """A terminal sends Ctrl-C to every process of the group, workers included."""
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr"\nseed = "1..2000"\nset.duration = "1s"\n')
    arguments = [sys.executable, "-m", "dovetail", "sweep", "grid.toml", "--out", "out", "--jobs", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(arguments, cwd=tmp_path, process_group=0, **pipes) as process:
        # Once there are results, workers are busy.
        while not any((tmp_path / "out").rglob("*.parquet")) and process.poll() is None:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.stderr.read().decode()
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert "interrupted: what is stored is kept" in errors


_AXES = "scenario, capture, policy, seed, policy.name, policy.quantum, set.duration"


@pytest.mark.parametrize("name", ["grid.toml", "grid.csv"])
@pytest.mark.parametrize("shown", [["--plot", "policy.quantun,throughput_mbps"], ["--table", "throughput_mbps,policy.quantun"]])
def test_an_axis_that_the_grid_does_not_have_is_refused_before_anything_runs(tmp_path, name, shown):
    if "--plot" in shown:
        pytest.importorskip("altair")
    (tmp_path / "grid.toml").write_text('scenario = "middlebox"\npolicy = "drr:quantum=900"\nset.duration = "10ms"\n')
    (tmp_path / "grid.csv").write_text("scenario,policy,policy.quantum,set.duration\nmiddlebox,drr,900,10ms\n")
    said = command("sweep", name, "--out", "out", "--jobs", "1", *shown, cwd=tmp_path)
    assert (said.returncode, said.stderr) == (
        2, f"dovetail: there will be no column 'policy.quantun'; the grid's axes are {_AXES}\n")
    assert not (tmp_path / "out").exists()


def test_what_the_first_results_do_not_have_is_said_at_once(tmp_path):
    """Before the progress is told of those results. Axes need no results: the first ones have no quantum."""
    from dovetail.sweep.progress import Quiet
    from dovetail.sweep.run import conduct

    class Ended(Exception):
        pass

    class UntilSaid(Quiet):
        def __init__(self):
            self.lines = []

        def say(self, line):
            self.lines.append(line)

        def advance(self, finished, failed):
            raise Ended

    said = UntilSaid()
    grid = {"scenario": "middlebox", "policy": ["drr", "drr:quantum=900"], "seed": "1..2000", "set": {"duration": "10ms"}}
    columns = ["quantum", "nosuch", "packets", "throughput_mbps", "p99"]
    with concurrent.futures.ThreadPoolExecutor(1) as threads, pytest.raises(Ended):
        conduct(grid, out=tmp_path / "out", client=threads, progress=said, columns=columns)
    assert len(said.lines) == 2, said.lines
    assert said.lines[0].startswith(f"the first results have no column 'nosuch'; there are {_AXES}, ")
    assert said.lines[1] == "'packets' may be queue_packets, buffer_packets: say which"
