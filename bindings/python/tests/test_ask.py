"""Comparing, tuning, explaining, admitting, reproducing; and the command."""

import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import dovetail
import pytest

BRIEF = {"duration": "50ms"}


def test_comparisons_over_seeds_have_medians() -> None:
    comparison = dovetail.compare("middlebox", ["fifo", "drfq"], seeds=range(1, 4), overrides=BRIEF)
    assert comparison.summary["statistic"] == ["run"] * 6 + ["median", "p5", "p95"] * 2
    assert comparison.verdict and comparison.document["seeds"] == [1, 2, 3]
    assert set(comparison.summary["policy"]) == {"fifo", "drfq"}


def test_a_comparison_writes_what_the_command_would(tmp_path: Path) -> None:
    report, summary = tmp_path / "report.html", tmp_path / "summary.parquet"
    dovetail.compare("middlebox", "fifo", overrides=BRIEF, report=report, summary=summary, records=tmp_path / "out")
    assert report.read_text().startswith("<!") and summary.read_bytes()[:4] == b"PAR1"
    assert (tmp_path / "out" / "fifo.csv").exists()
    with pytest.raises(ValueError, match="no-such-folder"):
        dovetail.compare("middlebox", "fifo", overrides=BRIEF, report=tmp_path / "no-such-folder" / "r.html")


def test_tuning_recommends_a_value() -> None:
    tuning = dovetail.tune("middlebox", "atfq", points=3, overrides={"duration": "300ms"})
    assert len(tuning.table) >= 2 and len(tuning.recommended) == 1
    assert "policy" in tuning.table.columns and tuning.table["knob"][0]
    with pytest.raises(ValueError, match="points"):
        dovetail.tune("middlebox", "atfq", points=1)


def test_an_explanation_says_who_made_whom_wait() -> None:
    explanation = dovetail.explain("middlebox", "fifo", against="drfq", slowest=2, overrides=BRIEF)
    assert len(explanation.table) > 0 and "against" in explanation.document
    with pytest.raises(ValueError, match="name one of"):
        dovetail.explain("middlebox", "fifo", flow="a", class_="b")


def test_reservations_may_be_a_text() -> None:
    text = """
[[resource]]
name = "cpu"
capacity = "1GHz"
[[reservation]]
name = "voice"
"""
    with pytest.raises(ValueError, match="reservations"):
        dovetail.admit(text)


def test_an_experiment_is_run_again() -> None:
    again = dovetail.reproduce("atfq-fig1")
    assert again.holds and again.table["experiment"] == ["atfq-fig1"] * len(again.table)
    with pytest.raises(ValueError, match="atfq-fig1"):
        dovetail.reproduce("no-such-figure")
    with pytest.raises(ValueError, match="^names: name an experiment, or all"):
        dovetail.reproduce([])


def test_what_there_is() -> None:
    assert {"drfq", "atfq", "grants"} <= {policy["policy"] for policy in dovetail.policies()}
    assert "middlebox" in {scenario["scenario"] for scenario in dovetail.scenarios()}


def _command(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "dovetail", *args], capture_output=True, text=True, check=False)


def test_the_wheel_s_command_is_the_whole_command() -> None:
    said = _command("--version")
    assert (said.returncode, said.stdout) == (0, f"dovetail {dovetail.__version__}\n")
    help_ = _command("--help").stdout
    for name in ("compare", "explain", "tune", "reproduce", "admit", "profile", "gateway", "middlebox", "lab"):
        assert f"\n  {name} " in help_, name
    wrong = _command("compare", "--policy", "fifoo")
    assert wrong.returncode == 2 and "did you mean fifo" in wrong.stderr
    assert (Path(sys.executable).parent / "dovetail").exists()


def test_ctrl_c_ends_the_command() -> None:
    args = [sys.executable, "-m", "dovetail", "compare", "speed", "--policy", "fifo"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


def test_importing_brings_nothing_else() -> None:
    code = "import sys, dovetail; print([name for name in ('numpy', 'altair', 'tqdm', 'pyarrow') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_what_ctrl_c_ends_does_not_go_on_in_the_background() -> None:
    """No thread of the native part is left soon after an experiment of many seconds was interrupted."""
    code = """
import os, signal, threading, time
import dovetail

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.start()
try:
    dovetail.reproduce("all")
except KeyboardInterrupt:
    print("interrupted")
timer.join()
# However busy the machine is, what has ended stays so, and what goes on would do so for minutes.
for _ in range(600):
    if threads() <= before:
        print("ended")
        break
    time.sleep(0.1)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted in /proc")
    assert said.stdout == "interrupted\nended\n", said.stderr


def test_seeds_are_those_that_the_command_takes() -> None:
    for seeds, why in (([], "1 to 1000"), ([1, 1], "1 is given twice"), (range(1001), "1 to 1000")):
        with pytest.raises(ValueError, match=why):
            dovetail.compare("middlebox", "fifo", seeds=seeds, overrides={"duration": "10ms"})
    for ask in (dovetail.compare, dovetail.tune, dovetail.explain):
        for seeds in ([3], [3, 4]):
            with pytest.raises(ValueError, match="one seed, or several seeds"):
                ask("middlebox", "fifo", seeds=seeds, seed=2, overrides={"duration": "10ms"})


def test_answers_are_pickled() -> None:
    comparison = dovetail.compare("middlebox", "fifo", overrides=BRIEF)
    again = pickle.loads(pickle.dumps(comparison))
    assert isinstance(again, dovetail.Comparison) and again.verdict == comparison.verdict
    assert again.table.to_dict() == comparison.table.to_dict()


def test_every_question_names_the_key_that_is_wrong() -> None:
    wrong = {"resource.link.rate": "fast"}
    for ask in (
        lambda: dovetail.compare("middlebox", "fifo", overrides=wrong),
        lambda: dovetail.tune("middlebox", "atfq", overrides=wrong),
        lambda: dovetail.explain("middlebox", "fifo", overrides=wrong),
    ):
        with pytest.raises(ValueError, match=r"^middlebox, resource\.link\.rate: "):
            ask()
