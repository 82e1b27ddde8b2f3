"""Reservations: what is answered, beside what the command answers, and what is said of input that is wrong."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import dovetail
import pytest

#: Table 2 of the CBCS-WFQ paper: 120 ms under one scheduler for both resources, 140 under one for each.
TABLE_2: dict[str, Any] = {
    "resource": [{"name": "cpu", "capacity": "1000 cycles/s"}, {"name": "link", "capacity": "1000 B/s"}],
    "reservation": [
        {
            "name": "flow 1",
            "rate": {"cpu": "75%", "link": "25%"},
            "packets": [{"cpu": "30 cycles", "link": "10 B"}],
        },
        {
            "name": "flow 2",
            "rate": {"cpu": "25%", "link": "75%"},
            "packets": [{"cpu": "10 cycles", "link": "30 B"}],
        },
    ],
}

#: One that fits, one whose rate is too much, one whose own delay is too long.
REFUSALS = """
[[resource]]
name = "cpu"
capacity = "1s/s"
target = 0.9

[[resource]]
name = "link"
rate = "100Mbps"
target = 0.95

[[reservation]]
name = "voice"
rate = { cpu = "1%", link = "1Mbps" }
packets = [{ cpu = "20us", link = "200B" }]
delay = "50ms"

[[reservation]]
name = "backup"
rate = { cpu = "5%", link = "99Mbps" }
packets = [{ cpu = "10us", link = "1500B" }]

[[reservation]]
name = "game"
rate = { cpu = "0.1%", link = "100kbps" }
packets = [{ cpu = "20us", link = "200B" }]
delay = "1ms"
"""


def _command(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "dovetail", "admit", *args], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("bound", ["composite", "separate"])
def test_the_published_example_is_exact(bound: str) -> None:
    admissions = dovetail.admit(TABLE_2, bound=bound)
    assert admissions.table["name"] == ["flow 1", "flow 2"] and admissions.table["admitted"] == [True, True]
    assert admissions.table["delay_ms.composite"] == [120.0, 120.0]
    assert admissions.table["delay_ms.separate"] == [140.0, 140.0]
    assert any("flow 2: admitted, which leaves" in note for note in admissions.notes)


@pytest.mark.parametrize("bound", [None, "composite", "separate"])
def test_a_path_has_the_command_s_answer_to_the_byte(tmp_path: Path, bound: str | None) -> None:
    file = tmp_path / "node.toml"
    file.write_text(REFUSALS)
    said = _command(str(file), "--json", *(["--bound", bound] if bound else []))
    assert said.returncode == 0, said.stderr
    document = json.loads(said.stdout)
    ours = dovetail.admit(file, bound=bound)
    assert ours.document == document
    # The table is the document's rows.
    assert ours.table["name"] == [row["name"] for row in document["reservations"]]
    assert ours.table["admitted"] == [row["admitted"] for row in document["reservations"]] == [True, False, False]


def test_a_text_and_a_dict_have_the_answer_of_a_file(tmp_path: Path) -> None:
    import tomllib

    file = tmp_path / "node.toml"
    file.write_text(REFUSALS)
    by_path, by_text = dovetail.admit(file), dovetail.admit(REFUSALS)
    by_dict = dovetail.admit(tomllib.loads(REFUSALS))
    keys = ("reservations", "resources", "notes")
    for key in keys:
        assert by_path.document.get(key) == by_text.document.get(key) == by_dict.document.get(key), key
    assert by_path.table.to_dict() == by_text.table.to_dict() == by_dict.table.to_dict()


def _refused(name: str) -> str:
    rows = dovetail.admit(REFUSALS).document["reservations"]
    (row,) = [row for row in rows if row["name"] == name]
    return str(row["refusal"]["why"])


def test_a_refusal_says_which_rule_and_by_how_much() -> None:
    # 99 of 95 - 1 Mbit/s: 5 Mbit/s, which are 625,000 B/s.
    assert "625000 B/s too much" in _refused("backup")
    assert "where its limit is 1 ms" in _refused("game")


WRONG = {
    "no resource": "[[reservation]]\nname = 'voice'\n",
    "an unknown key": REFUSALS.replace("target = 0.95", "tarket = 0.95"),
    "no TOML": REFUSALS.replace("[[reservation]]", "[[reservation", 1),
    "a negative capacity": REFUSALS.replace('"1s/s"', '"-1s/s"'),
    "a target over 1": REFUSALS.replace("target = 0.9\n", "target = 1.5\n"),
    "not a number": REFUSALS.replace("target = 0.9\n", "target = nan\n"),
    "a unit that is none": REFUSALS.replace('"1Mbps"', '"1Mbsp"'),
    "a resource that is none": REFUSALS.replace('{ cpu = "1%", link', '{ gpu = "1%", link'),
    "a percentage over all": REFUSALS.replace('"5%"', '"500%"'),
    "no packets": REFUSALS.replace('packets = [{ cpu = "10us", link = "1500B" }]', "packets = []"),
    "a delay of nothing": REFUSALS.replace('delay = "1ms"', 'delay = "0ms"'),
    "a name twice": REFUSALS.replace('name = "game"', 'name = "voice"'),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_the_command_s_words(tmp_path: Path, what: str) -> None:
    file = tmp_path / "node.toml"
    file.write_text(WRONG[what])
    said = _command(str(file), "--json")
    if said.returncode == 0:
        # What the command takes, so does this.
        assert dovetail.admit(file).document == json.loads(said.stdout)
        return
    with pytest.raises(ValueError) as by_path:
        dovetail.admit(file)
    assert str(by_path.value) in said.stderr and str(by_path.value).strip()
    # A text has no path: its errors name the option instead.
    with pytest.raises(ValueError) as by_text:
        dovetail.admit(WRONG[what])
    assert str(by_text.value) == str(by_path.value).replace(str(file), "reservations")


def test_most_of_what_is_wrong_is_refused(tmp_path: Path) -> None:
    """So that the test above does not pass because everything is taken."""
    refused = 0
    for text in WRONG.values():
        file = tmp_path / "node.toml"
        file.write_text(text)
        refused += _command(str(file), "--json").returncode != 0
    assert refused >= 8


def test_arguments_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="composite or separate"):
        dovetail.admit(TABLE_2, bound="both")
    with pytest.raises(ValueError, match=r"no-such-file\.toml"):
        dovetail.admit("no-such-file.toml")
    with pytest.raises(TypeError, match="path, a text or a dict"):
        dovetail.admit(None)
    with pytest.raises(TypeError):
        dovetail.admit(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NaN"):
        dovetail.admit({"resource": [{"name": "cpu", "capacity": float("nan")}]})
    with pytest.raises(ValueError, match="levels deep"):
        deep: Any = {}
        for _ in range(50):
            deep = {"a": deep}
        dovetail.admit(deep)
    with pytest.raises(ValueError, match="below 2"):
        dovetail.admit({"resource": 2**70})
