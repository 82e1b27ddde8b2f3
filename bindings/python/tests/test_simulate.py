"""Policies over the same traffic: what comes out, in which form, and what is refused."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import dovetail
import pytest

BRIEF = {"duration": "50ms"}

BOX = """
name = "box"
duration = "20ms"
pipeline = "no-wait"
[[resource]]
name = "cpu"
[[resource]]
name = "link"
rate = "100Mbps"
[[class]]
name = "all"
cost = { cpu = "10us" }
[[flow]]
name = "a"
size = 1000
arrivals = { constant = "8000/s" }
[[flow]]
name = "b"
size = 500
arrivals = { constant = "8000/s" }
"""


def test_a_path_a_text_and_a_dict_are_the_same_scenario(tmp_path: Path) -> None:
    import tomllib

    path = tmp_path / "box.toml"
    path.write_text(BOX)
    results = [dovetail.simulate(given, ["fifo", "drr"]) for given in (path, str(path), BOX, tomllib.loads(BOX))]
    figures = [{k: v for k, v in one.summary.to_dict().items() if k[:6] not in ("wall_s", "inputs")} for one in results]
    assert all(other == figures[0] for other in figures[1:])
    assert results[0].resources == ["cpu", "link"]


def test_overrides_are_values_of_the_scenario() -> None:
    slow, fast = (
        dovetail.simulate(BOX, "fifo", overrides={"link.rate": rate}).summary["utilisation.link"][0]
        for rate in ("100Mbit/s", "200Mbit/s")
    )
    assert slow > 0.9 and fast == pytest.approx(slow / 2, rel=0.1)
    text = dovetail.scenario(BOX, {"flow.*.size": 100, "load": 0.5, "duration": None})
    assert text.count("size = 100\n") == 2 and "load = 0.5" in text and "duration" not in text
    assert dovetail.scenario(BOX) == dovetail.scenario("# another comment\n" + BOX)


def test_the_same_seed_gives_the_same_figures_and_another_gives_others() -> None:
    def figures(seed: int) -> dict[str, list[object]]:
        summary = dovetail.simulate("middlebox", "drfq", seed=seed, overrides=BRIEF).summary
        return {name: summary[name] for name in summary.columns if name not in ("wall_s", "seed")}

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)


def test_figures_are_those_of_the_command(tmp_path: Path) -> None:
    import json

    path = tmp_path / "box.toml"
    path.write_text(BOX)
    args = [sys.executable, "-m", "dovetail", "compare", str(path), "--policy", "drr", "--json"]
    said = json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)
    result = dovetail.simulate(path, "drr")
    for document in (said["policies"][0], result.document["policies"][0]):
        del document["wall_s"]
    assert said["policies"] == result.document["policies"]
    assert said["provenance"] == result.document["provenance"]
    assert result.summary["latency_us.p99"] == [said["policies"][0]["latency_us"]["p99"]]


def test_records_are_read_by_arrow_s_consumers_without_what_was_dropped_having_times() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    result = dovetail.simulate("middlebox", ["fifo", "drfq"], overrides=BRIEF, records=True)
    table = pyarrow.table(result.records)
    assert table.num_rows == len(result.records) > 0
    assert table.column_names == result.records.columns
    frame = polars.DataFrame(result.records)
    sent = frame.filter(polars.col("outcome") == "sent")
    assert (sent["cpu_start_ns"] >= sent["arrival_ns"]).all()
    assert (sent["link_end_ns"] > sent["link_start_ns"]).all()
    dropped = frame.filter(polars.col("outcome") == "dropped")
    assert dropped["cpu_start_ns"].null_count() == len(dropped) > 0
    assert set(sent["policy"].cast(polars.String)) == {"fifo", "drfq"}
    assert table.column("packet").to_pylist() == result.records["packet"]
    # The table goes on when what it came from is gone.
    records = result.records
    del result
    assert pyarrow.table(records).num_rows == table.num_rows


def test_records_that_were_not_kept_are_asked_for_by_name() -> None:
    with pytest.raises(ValueError, match="records=True"):
        _ = dovetail.simulate(BOX, "fifo").records


def test_networks_and_gateways_run_as_well() -> None:
    network = dovetail.simulate("drr-sff", ["fifo", "las"], overrides={"traffic.web.transfers.count": 50}, records=True)
    assert network.summary["policy"] == ["fifo", "las"]
    assert any(name.startswith("transfers.") for name in network.summary.columns)
    assert network.records.columns[-3:] == ["link_start_ns", "link_end_ns", "outcome"]
    users = dovetail.simulate("access", ["none", "grants"], load=0.3)
    assert len(users.summary["access.utilisation"]) == 2


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (dict(scenario="middlebx"), "did you mean middlebox"),
        (dict(scenario=BOX, policies="fifoo"), "did you mean fifo"),
        (dict(scenario=BOX, policies=[]), "at least one"),
        (dict(scenario=BOX, policies=["drr", "drr"]), "twice"),
        (dict(scenario=BOX, policies="grants"), "gateway"),
        (dict(scenario=BOX, overrides={"duratin": "1s"}), "unknown field"),
        (dict(scenario=BOX, overrides={"load": float("nan")}), "NaN"),
        (dict(scenario=BOX, overrides={"load": 1 << 70}), "below 2"),
        (dict(scenario=BOX, overrides={"flow.z.size": 1}), "no entry 'z', only a, b"),
        (dict(scenario=BOX, load=float("nan")), "load"),
        (dict(scenario=BOX, load=0.0), "load"),
        (dict(scenario=BOX, seed=-1), "seed"),
        (dict(scenario=BOX, seed=1 << 64), "seed"),
        (dict(scenario=BOX, jobs=0), "jobs"),
        (dict(scenario=BOX, queue_packets=0), "queue_packets"),
        (dict(scenario=BOX, pipeline="nowait"), "no-wait"),
        (dict(scenario=BOX, link="fast"), 'link: not a number with a unit, such as "400Mbps"'),
        (dict(scenario=BOX, drop="head"), "limit"),
        (dict(scenario="name = \n"), "line 1"),
        (dict(scenario={"name": "x"}), "resource"),
        (dict(scenario=BOX, window="0s"), "window"),
    ],
)
def test_what_is_wrong_is_a_value_error_that_says_so(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        dovetail.simulate(**{"policies": "fifo", **given})  # type: ignore[arg-type]


def test_wrong_types_are_type_errors() -> None:
    for given in (dict(seed="x"), dict(overrides={1: 2}), dict(overrides={"load": object()}), dict(link=3)):
        with pytest.raises(TypeError):
            dovetail.simulate(BOX, "fifo", **given)  # type: ignore[arg-type]
    for scenario in (3, b"name"):
        with pytest.raises(TypeError, match="scenario"):
            dovetail.simulate(scenario, "fifo")  # type: ignore[arg-type]
    deep: dict[str, object] = {}
    for _ in range(1000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="levels deep"):
        dovetail.simulate(deep, "fifo")


def test_files_that_a_text_names_are_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sizes.cdf").write_text("100 0.5\n1000 1.0\n")
    text = BOX.replace("size = 500", 'size = { cdf = { file = "sizes.cdf" } }')
    with pytest.raises(ValueError, match=r"sizes\.cdf"):
        dovetail.simulate(text, "fifo")
    assert dovetail.simulate(text, "fifo", folder=tmp_path).summary["sent"][0] > 0


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [("middlebox", {"duration": "100000s"}), ("drr-sff", {"traffic.web.transfers.count": 3_000_000})],
)
def test_ctrl_c_ends_a_run_that_would_take_hours(scenario: str, overrides: dict[str, object]) -> None:
    run = f"""
        import dovetail
        print("begins", flush=True)
        try:
            dovetail.simulate({scenario!r}, ["fifo", "drr"], overrides={overrides!r})
        except KeyboardInterrupt:
            print("interrupted")
    """
    args = [sys.executable, "-c", textwrap.dedent(run)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n" and process.returncode == 0


def test_other_threads_go_on_while_a_run_computes() -> None:
    turns = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = turns
    dovetail.simulate("middlebox", "drfq", overrides={"duration": "10s"})
    during = turns - before
    ended.set()
    thread.join()
    # Were the lock held, the thread would stand still.
    assert during > 1


def test_progress_is_told_and_what_it_raises_ends_the_run() -> None:
    told: list[tuple[str, str, int, int | None]] = []
    result = dovetail.simulate("middlebox", ["fifo", "drr"], overrides=BRIEF, progress=lambda *what: told.append(what))
    assert told and told[-1][1] == "packets"
    assert told[-1][2] == sum(result.summary["sent"]) + sum(result.summary["dropped"])

    def fail(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        dovetail.simulate("middlebox", "fifo", overrides={"duration": "100000s"}, progress=fail)


def test_a_bar_is_drawn_with_tqdm(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    dovetail.simulate("middlebox", "fifo", overrides=BRIEF, progress=True)
    assert "packets" in capfd.readouterr().err


def test_a_chart_has_a_point_for_each_policy() -> None:
    pytest.importorskip("altair")
    result = dovetail.simulate("middlebox", ["fifo", "drr"], overrides=BRIEF)
    chart = result.plot().to_dict()
    (values,) = chart["datasets"].values()
    assert [value["policy"] for value in values] == ["fifo", "drr"]
    assert chart["encoding"]["y"]["field"].startswith("utilisation\\.")
    with pytest.raises(ValueError, match="there is no column 'latency'"):
        result.plot("latency")


def test_a_table_is_read_by_the_names_of_its_columns() -> None:
    table = dovetail.simulate("middlebox", "fifo", overrides={"duration": "10ms"}).summary
    assert "policy" in table and "latency.p99" not in table and 3 not in table
    assert list(table) == table.columns == table.keys()
    with pytest.raises(KeyError, match=r"no column 'latency_us.p9' \(did you mean latency_us.p9"):
        table["latency_us.p9"]


def test_the_package_names_what_it_has() -> None:
    assert {"sweep", "load", "simulate"} <= set(dir(dovetail)) and {"sweep", "load"} <= set(dovetail.__all__)


@pytest.mark.parametrize(
    ("scenario", "overrides", "key"),
    [
        ("middlebox", {"link.rate": "fast"}, "middlebox, resource.link.rate: "),
        (BOX, {"flow.b.arrivals": {"poisson": 3}}, "scenario, flow.b.arrivals.poisson: "),
        (BOX, {"class.all.cost.cpu": "10 parsecs"}, "scenario, class.all.cost.cpu: "),
        (BOX, {"duration": "soon"}, "scenario, duration: "),
        ({"name": "x", "resource": [{"name": "a.b", "rate": "1 furlong"}]}, None, 'scenario, resource."a.b".rate: '),
        ({"name": "x", "description": "a\n[[flow]]\nb", "duration": "soon"}, None, "scenario, duration: "),
        (
            {"name": "x", "description": "a\n[[resource]]\n", "resource": [{"name": "a", "rate": "1 furlong"}, {}]},
            None,
            "scenario, resource.a.rate: ",
        ),
    ],
)
def test_an_error_in_a_text_that_nobody_saw_names_the_key(scenario: object, overrides: object, key: str) -> None:
    with pytest.raises(ValueError) as raised:
        dovetail.simulate(scenario, "fifo", overrides=overrides)  # type: ignore[arg-type]
    assert str(raised.value).startswith(key) and ", line " not in str(raised.value)


def test_an_error_in_a_text_that_was_given_names_its_line() -> None:
    with pytest.raises(ValueError, match="scenario, line 9: "):
        dovetail.simulate(BOX.replace("100Mbps", "fast"), "fifo")


def test_values_of_other_types_are_told_from_numbers_that_are_too_large() -> None:
    class Many:
        def __index__(self) -> int:
            raise TypeError("only scalars are numbers")

    with pytest.raises(TypeError, match="duration: only scalars"):
        dovetail.simulate(BOX, "fifo", overrides={"duration": Many()})
    for given, why in ((dict(link=1e6), 'link: give a str with a unit, such as "400Mbps"'), (dict(window=3), '"100ms"')):
        with pytest.raises(TypeError, match=why):
            dovetail.simulate(BOX, "fifo", **given)  # type: ignore[arg-type]


def test_no_scenario_has_no_text() -> None:
    with pytest.raises(TypeError, match="scenario: give a path, a text or a dict"):
        dovetail.scenario(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_results_are_pickled_and_copied(copied: object) -> None:
    assert callable(copied)
    result = dovetail.simulate("middlebox", ["fifo", "drfq"], overrides=BRIEF, queue_packets=5, records=True)
    again = copied(result)
    assert again.document == result.document and again.resources == result.resources
    for table, other in ((result.summary, again.summary), (result.records, again.records)):
        assert other.to_dict() == table.to_dict() and len(other) == len(table) > 0
    # Missing times are still missing, and Arrow's consumers find the same types.
    assert None in again.records["link_end_ns"]
    pyarrow = pytest.importorskip("pyarrow")
    for table, other in ((result.summary, again.summary), (result.records, again.records)):
        assert pyarrow.table(other).equals(pyarrow.table(table))


def test_what_is_no_table_is_refused() -> None:
    from dovetail import _native

    for fields, batches in (
        ([("a", "nothing", True)], [[[1]]]),
        ([("a", "whole", True)], [[(b"123", None)]]),
        ([("a", "whole", True), ("b", "text", True)], [[(bytes(8), None), ["x", "y"]]]),
        ([("a", "words", False)], [[(b"\1\0\0\0", ["only one"])]]),
        ([("a", "whole", True), ("b", "whole", True)], [[(bytes(8), None)]]),
        ([("a", "whole", True)], [[(bytes(8), b"\1\1")]]),
    ):
        with pytest.raises(ValueError):
            _native.table_of(fields, batches)


def test_a_notebook_shows_the_first_rows_of_a_table() -> None:
    pages = dovetail.simulate("middlebox", "fifo", overrides=BRIEF, records=True)
    html = pages.records._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 21 and f"20 of {len(pages.records)} rows" in html
    assert pages.summary._repr_html_().count("<tr>") == 2 and "rows</p>" not in pages.summary._repr_html_()
    odd = dovetail.simulate(BOX.replace('name = "a"', 'name = "<a>"'), "fifo", records=True).records._repr_html_()
    assert "&lt;a&gt;" in odd and "<a>" not in odd
