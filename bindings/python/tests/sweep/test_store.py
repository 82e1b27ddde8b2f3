"""What is in the folder of a sweep is whole, its own, and the same for equal sweeps."""

import errno
import json
import multiprocessing
import os
import subprocess
from pathlib import Path

import dovetail.sweep
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dovetail.sweep import EngineError, GridError, StoreError, store
from dovetail.sweep.work import Done
from fakes import canonical, points, run


def here():
    """An executor that runs everything at once, in this process."""
    from concurrent.futures import Executor, Future

    class Here(Executor):
        _max_workers = 2

        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
            return future

    return Here()


def sweep(grid, out, **more):
    options = {"client": here(), "progress": False, "runner": run, "canonical": canonical, **more}
    return dovetail.sweep(grid, out=out, **options)


def description(**more):
    return {"format": 1, "version": "0", "with_records": False, "points": 1, "grid": None, **more}


def test_every_point_has_a_row_and_wall_time_is_apart(tmp_path):
    results = sweep(points(), tmp_path / "out")
    assert len(results) == results.points == 80
    assert results.missing == 0 and results.failures.num_rows == 0
    assert "wall_s" in results.wall.column_names and "wall_s" not in results.table.column_names
    assert results.table["seed"].type == pa.uint64()


def test_equal_sweeps_are_equal_bytes(tmp_path):
    for name in ("a", "b"):
        sweep(points(), tmp_path / name).write(tmp_path / f"{name}.parquet")
        sweep(points(), tmp_path / f"{name}2").write(tmp_path / f"{name}.csv")
    for kind in ("parquet", "csv"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_a_poisoned_point_is_reported_and_stops_no_other(tmp_path):
    results = sweep(points(scenario={"poison": [3, 7]}), tmp_path / "out")
    assert len(results) == 76
    assert sorted(results.failures["error"].to_pylist()) == 2 * ["seed 3 is poison"] + 2 * ["seed 7 is poison"]
    assert results.missing == 0


def test_resuming_runs_failed_and_new_points_and_no_other(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    scenario = {"log": str(log), "poison": [1]}
    sweep(points(seed="1..10", scenario=scenario), out)
    assert len(log.read_text().splitlines()) == 18
    results = sweep(points(seed="1..12", scenario=scenario), out, resume=True)
    assert len(log.read_text().splitlines()) == 22, "two seeds more under two policies"
    assert len(results) == 22 and results.failures.num_rows == 2 and results.missing == 0


@pytest.mark.parametrize(("others", "kind"), [
    ([pa.array([1.5]), pa.nulls(1, pa.string())], pa.float64()),
    ([pa.nulls(1, pa.string()), pa.nulls(1, pa.float64())], pa.float64()),
    ([pa.nulls(1, pa.string()), pa.nulls(1, pa.string())], pa.string()),
    ([pa.nulls(1), pa.array([3], pa.uint64())], pa.uint64()),
    ([pa.array([1.5]), pa.array([2], pa.uint64())], pa.float64()),
    ([pa.array(["none"]), pa.array([1.5]), pa.array([True])], pa.string()),
])
def test_tables_whose_types_differ_are_one_table(others, kind):
    from dovetail.sweep.encoding import merged

    table = merged([pa.table({"x": values}) for values in others])
    assert (table.num_rows, table["x"].type) == (len(others), kind)
    assert [value is None for value in table["x"].to_pylist()] == [not values[0].is_valid for values in others]


def test_columns_that_are_empty_everywhere_keep_their_type(tmp_path):
    results = sweep({"scenario": {"name": "fake"}, "policy": ["drfq", "fifo"]}, tmp_path / "out")
    assert (results.table["seed"].type, results.table["capture"].type) == (pa.uint64(), pa.string())


def test_points_of_another_grid_stay(tmp_path):
    sweep(points(seed="1..10"), tmp_path / "out")
    results = sweep(points(seed="8..12"), tmp_path / "out", resume=True)
    assert len(results) == results.points == 24


def test_a_sweep_is_not_begun_twice(tmp_path):
    sweep(points(), tmp_path / "out")
    with pytest.raises(StoreError, match="continue it with --resume"):
        sweep(points(), tmp_path / "out")


@pytest.mark.parametrize("changed", [{"version": "1"}, {"with_records": True}])
def test_results_that_would_mix_are_refused(tmp_path, changed):
    store.Store.open(tmp_path, description(), False).close()
    with pytest.raises(StoreError, match="results would mix"):
        store.Store.open(tmp_path, description(**changed), True)


@pytest.mark.parametrize("name", ["thesis.tex", "results", "records"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path, name, resume):
    (tmp_path / name).mkdir()
    with pytest.raises(StoreError, match=name):
        sweep(points(), tmp_path, resume=resume)
    assert {path.name for path in tmp_path.iterdir()} - {".lock"} == {name}


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(StoreError, match="out"):
        sweep(points(), tmp_path / "out")


def test_foreign_and_damaged_files_among_the_results_are_named(tmp_path):
    sweep(points(), tmp_path)
    first = next(store.files(tmp_path, "results"))
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=f"{first.name} is damaged"):
        dovetail.sweep.load(tmp_path)
    with pytest.raises(StoreError, match=r"remove it, and --resume \(resume=True\) runs its points again"):
        sweep(points(), tmp_path, resume=True)
    first.unlink()
    assert len(sweep(points(), tmp_path, resume=True)) == 80
    pq.write_table(pa.table({"key": ["00"]}), tmp_path / "results" / "mine.parquet")
    with pytest.raises(StoreError, match="mine.parquet was not written by a sweep"):
        dovetail.sweep.load(tmp_path)


def test_what_was_half_written_is_never_read(tmp_path):
    sweep(points(seed="1..10"), tmp_path)
    whole = next(store.files(tmp_path, "results")).read_bytes()
    (tmp_path / "results" / ".half.parquet.partial").write_bytes(whole[:100])
    assert len(dovetail.sweep.load(tmp_path)) == 20
    sweep(points(seed="1..10"), tmp_path, resume=True)
    assert not list(tmp_path.rglob(".*.partial"))


def test_a_result_that_is_there_twice_counts_once(tmp_path):
    sweep(points(seed="1..10"), tmp_path)
    for path in list(store.files(tmp_path, "results")):
        path.with_name(f"again-{path.name}").write_bytes(path.read_bytes())
    assert len(dovetail.sweep.load(tmp_path)) == 20


def test_a_folder_without_a_sweep_is_not_loaded(tmp_path):
    with pytest.raises(StoreError, match="has no sweep"):
        dovetail.sweep.load(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(StoreError, match="not of a sweep that this version can read"):
        dovetail.sweep.load(tmp_path)


def test_records_are_partitions(tmp_path):
    from pyarrow import dataset

    results = sweep(points(seed=[1, 2], policy=["drfq", "atfq:batch=20"]), tmp_path, records=True)
    records = dataset.dataset(tmp_path / "records", partitioning="hive").to_table()
    assert records.num_rows == 8
    assert set(records["policy"].to_pylist()) == {"drfq", "atfq:batch=20"}
    assert set(records["key"].to_pylist()) == set(results.table["key"].to_pylist())


def test_a_grid_of_zero_points_makes_no_folder(tmp_path):
    with pytest.raises(GridError, match="no points"):
        sweep(points(seed=[]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_sweep_that_stored_nothing_leaves_what_was_there_before(tmp_path, there):
    from concurrent.futures import ThreadPoolExecutor

    out = tmp_path / "runs" / "out"
    if there:
        out.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(EngineError, match="takes no more work"):
        sweep(points(), out, client=pool)
    assert list(tmp_path.rglob("*")) == ([out.parent, out] if there else [])


def test_a_sweep_that_is_continued_is_not_removed(tmp_path):
    store.Store.open(tmp_path / "out", description(), False).close()
    continued = store.Store.open(tmp_path / "out", description(), True)
    continued.abandon()
    continued.close()
    assert (tmp_path / "out" / "sweep.json").exists()


def _hold(folder, is_held, end):
    kept = store.Store.open(folder, description(), False)
    is_held.set()
    end.wait()
    kept.close()


def test_two_sweeps_do_not_share_a_folder(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    is_held, end = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(tmp_path, is_held, end))
    other.start()
    assert is_held.wait(60)
    with pytest.raises(StoreError, match="in use by another sweep"):
        store.Store.open(tmp_path, description(), True)
    end.set()
    other.join()
    store.Store.open(tmp_path, description(), True).close()


def test_a_full_disk_is_said_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    kept = store.Store.open(tmp_path, description(), False)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space for results .* make room, and continue with --resume"):
        kept.add([b"key"], Done(results=b"results"))
    assert not list((tmp_path / "results").iterdir())


def test_a_disk_that_is_full_in_earnest(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    try:
        # Every seed alone is a batch here, and takes a block of each kind.
        with pytest.raises(StoreError, match="no space for results"):
            for seed in range(1000):
                sweep(points(seed=seed), place / "out", resume=True)
        there = len(dovetail.sweep.load(place / "out"))
        assert there > 0
        assert not list((place / "out").rglob(".*.partial"))
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
        results = sweep(points(seed=f"0..{there}"), place / "out", resume=True)
        assert len(results) == 2 * (there + 1)
    finally:
        subprocess.run(["umount", place], check=True)


def test_the_description_says_which_grid_it_was(tmp_path):
    sweep(points(seed=1), tmp_path)
    said = json.loads((tmp_path / "sweep.json").read_text())
    assert said["points"] == 2 and '"seed": 1' in said["grid"]
    assert Path(tmp_path / "results").is_dir()
