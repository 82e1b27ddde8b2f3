"""What grids say, and what they are refused for."""

import tomllib
from decimal import Decimal

import pytest
from dovetail.sweep import GridError
from dovetail.sweep.axes import axis
from dovetail.sweep.grid import read
from dovetail.sweep.points import MAX_POINTS
from fakes import canonical

SCENARIO = {"name": "s"}


def values(written):
    """What a TOML value stands for."""
    return axis(tomllib.loads(f"x = {written}", parse_float=Decimal)["x"], "x").distinct()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3", [3]),
        ('"5us"', ["5us"]),
        ("true", [True]),
        ('"1..4"', [1, 2, 3, 4]),
        ('[1, "3..5", 4, 1]', [1, 3, 4, 5]),
        ("{ from = 0.3, to = 1, step = 0.1 }", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("{ from = 0, to = 1, count = 5 }", [0, 0.25, 0.5, 0.75, 1]),
        ('{ from = 1, to = 100, count = 3, scale = "log" }', [1, 10, 100]),
        ('{ from = 1, to = 100, count = 5, scale = "log", whole = true }', [1, 3, 10, 32, 100]),
        ('{ from = 1, to = 3, count = 5, whole = true, unit = "us" }', ["1us", "2us", "3us"]),
        ('{ from = 10, to = 30, step = 10, unit = "Mbps" }', ["10Mbps", "20Mbps", "30Mbps"]),
        ("[{ fixed = 1500 }]", [{"fixed": 1500}]),
        ("[[80, 443]]", [[80, 443]]),
    ],
)
def test_a_value_a_list_or_a_range(written, meant):
    assert values(written) == meant


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("nan", "no number that a run can have"),
        ("[inf]", "no number that a run can have"),
        ('"4..1"', "ranges go up"),
        ("{ from = 1, to = 2 }", "either step or count"),
        ("{ from = 1, to = 2, step = 0 }", "above 0"),
        ("{ from = 1, to = nan, count = 3 }", "not a finite number"),
        ("{ from = 0, to = 2, count = 3, scale = 'log' }", "above 0"),
        ("{ from = 1, to = 2, count = 3, unti = 'us' }", "unknown key 'unti'"),
        ("{ from = 1, to = 2, count = true }", "whole number"),
        ("{ from = 1, to = 2, count = 3, whole = 1 }", "true or false"),
        ("1979-05-27", "neither a number"),
    ],
)
def test_a_range_that_is_none_is_refused(written, why):
    with pytest.raises(GridError, match=why):
        values(written)


def test_every_combination_is_a_point_once():
    table = {"scenario": [SCENARIO, dict(SCENARIO)], "policy": ["drfq", {"name": "tradeoff", "alpha": [0.3, 0.5]}, "drfq"],
             "seed": [1, 1, 2], "set": {"load": [0.8, 1.2], "link": {"rate": ["1Mbps", "2Mbps"]}}}
    points = list(grid := read(table, canonical))
    assert grid.size == len(points) == 3 * 2 * 4
    assert len({point.key("1") for point in points}) == len(points)
    assert {point.policy for point in points} == {"drfq", "tradeoff:alpha=0.3", "tradeoff:alpha=0.5"}
    assert points[0].changes == (("link.rate", "1Mbps"), ("load", 0.8))


def test_a_count_may_be_written_as_a_float():
    (point,) = read({"scenario": SCENARIO, "policy": "drfq", "set": {"queue_packets": 10.0}}, canonical)
    assert point.changes == (("queue_packets", 10),) and isinstance(point.changes[0][1], int)


def test_a_key_is_of_what_decides_the_result_and_nothing_else(tmp_path):
    (tmp_path / "a.pcap").write_bytes(b"a")
    (tmp_path / "copy.pcap").write_bytes(b"a")
    (tmp_path / "b.pcap").write_bytes(b"b")

    def key(version="1", **more):
        (point,) = read({"scenario": SCENARIO, "policy": "drfq", **more}, canonical)
        return point.key(version)

    same = key(capture=str(tmp_path / "a.pcap"))
    assert same == key(capture=str(tmp_path / "copy.pcap"))
    others = [key("2"), key(), key(capture=str(tmp_path / "b.pcap")), key(policy="fifo"), key(seed=1),
              key(set={"load": 1}), key(set={"load": 2}), key(scenario={"name": "t"})]
    assert len({same, *others}) == len(others) + 1


def test_fifty_captures_twenty_seeds_and_eight_alphas_are_ten_lines(tmp_path):
    (tmp_path / "captures").mkdir()
    for number in range(50):
        (tmp_path / "captures" / f"{number}.pcap").write_bytes(str(number).encode())
    (tmp_path / "box.toml").write_text('name = "box"\n')
    written = """\
scenario = "box.toml"
capture = "captures/*.pcap"
seed = "1..20"

[policy]
name = "tradeoff"
alpha = { from = 0.3, to = 1, step = 0.1 }
"""
    (tmp_path / "grid.toml").write_text(written)
    assert len(written.splitlines()) <= 10
    points = read(tmp_path / "grid.toml", canonical)
    assert points.size == 8000
    assert len({point.key("") for point in points}) == 8000


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"polices": 1}, "unknown key 'polices'; valid are capture, policy"),
        ({"policy": None}, "neither a text"),
        ({"policy": []}, "no points, since policy is an empty list"),
        ({"seed": []}, "no points, since seed is an empty list"),
        ({"seed": -1}, "from 0 to"),
        ({"seed": 1.5}, "from 0 to"),
        ({"seed": "one"}, "from 0 to"),
        ({"capture": "none/*.pcap"}, "matches no file"),
        ({"capture": "none.pcap"}, "cannot read .*none.pcap: No such file"),
        ({"capture": 3}, "not a text"),
        ({"scenario": "none.toml"}, "there is no file"),
        ({"set": 3}, "table of scenario keys"),
        ({"set": {"queue_packets": {"from": 1, "to": 100, "count": 5, "scale": "log"}}}, "set.queue_packets: 3.16228 is not a whole"),
        ({"set": {"buffer_packets": "many"}}, "set.buffer_packets: 'many' is not a whole"),
    ],
)
def test_a_grid_that_says_nothing_is_refused(changed, why):
    with pytest.raises(GridError, match=why):
        read({"scenario": SCENARIO, "policy": "drfq", **changed}, canonical)


@pytest.mark.parametrize("seed", ["1..1000000000", [f"{n}000000..{n}999999" for n in range(1, 1000)]])
def test_a_thousand_million_points_are_refused_before_they_exist(seed):
    with pytest.raises(GridError, match=rf"points .* seeds.* are more than the {MAX_POINTS:,} of one sweep"):
        read({"scenario": SCENARIO, "policy": ["drfq", "fifo"], "seed": seed}, canonical)


def test_a_scenario_carries_the_files_that_it_names(tmp_path):
    (tmp_path / "sizes.csv").write_text("# bytes, share\n100, 0.5\n1500 1\n")
    (tmp_path / "s.toml").write_text('name = "s"\n[[transfers]]\nsize = { cdf = { file = "sizes.csv", unit = "1460B" } }\n')
    (point,) = read({"scenario": str(tmp_path / "s.toml"), "policy": "drfq"}, canonical)
    assert '{"points": [[100.0, 0.5], [1500.0, 1.0]], "unit": "1460B"}' in point.scenario.text


def test_scenarios_of_one_name_are_told_apart():
    points = list(read({"scenario": [{"name": "s", "seed": 1}, {"name": "s", "seed": 2}], "policy": "drfq"}, canonical))
    assert len({point.scenario.name for point in points}) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_of_points(tmp_path, kind):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "s.toml").write_text('name = "s"\n')
    path = tmp_path / f"points.{kind}"
    if kind == "csv":
        path.write_text("scenario,policy,policy.alpha,set.load,seed\ns.toml,tradeoff,0.5,1.2,3\ns.toml,drfq,,,\n"
                        "s.toml,drfq,,,\n")
    else:
        rows = [{"scenario": "s.toml", "policy": "tradeoff", "policy.alpha": 0.5, "set.load": 1.2, "seed": 3},
                {"scenario": "s.toml", "policy": "drfq"}, {"scenario": "s.toml", "policy": "drfq"}]
        pq.write_table(pa.Table.from_pylist(rows), path)
    points = read(path, canonical)
    found = [(point.policy, point.changes, point.seed) for point in points]
    assert found[:2] == [("tradeoff:alpha=0.5", (("load", 1.2),), 3), ("drfq", (), None)]
    assert points.size == 2, "a row that is there twice is one point"


def test_a_table_may_start_with_a_byte_order_mark(tmp_path):
    (tmp_path / "s.toml").write_text('name = "s"\n')
    (tmp_path / "points.csv").write_text("scenario,policy\ns.toml,drfq\n", encoding="utf-8-sig")
    assert [point.policy for point in read(tmp_path / "points.csv", canonical)] == ["drfq"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no rows"),
        ("scenario,policy\n", "no rows"),
        ("scenario,polcy\ns.toml,drfq\n", "unknown column 'polcy'"),
        ("scenario,policy\n,drfq\n", "row 1: a point has a policy"),
        ("scenario,policy\ns.toml\n", "not as many cells"),
        ("scenario,policy,set.load\ns.toml,drfq,nan\n", "no number"),
        ("scenario,policy,seed\ns.toml,drfq,x\n", "'x' is not a whole number"),
        ("scenario,policy,set.queue_packets\ns.toml,drfq,1.5\n", "row 1: set.queue_packets: 1.5 is not a whole number"),
    ],
)
def test_a_table_that_says_nothing_is_refused(tmp_path, text, why):
    (tmp_path / "s.toml").write_text('name = "s"\n')
    (tmp_path / "points.csv").write_text(text)
    with pytest.raises(GridError, match=why):
        read(tmp_path / "points.csv", canonical)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "points.parquet").write_bytes(b"no table")
    with pytest.raises(GridError, match="points.parquet"):
        read(tmp_path / "points.parquet", canonical)
