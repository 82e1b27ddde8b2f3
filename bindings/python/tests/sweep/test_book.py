"""The pages on sweeps: their commands print what they show, and their scripts are right as far as can be seen here."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

COPIED = Path(__file__).parents[1]
#: Beside the tests, where they were copied to, or in the book.
DOCS = COPIED if (COPIED / "sweep.md").exists() else Path(__file__).parents[4] / "docs"
BLOCK = re.compile(r"((?:<!-- .*? -->\n)*)```(\w+)\n(.*?)```\n", re.DOTALL)

pytest.importorskip("dovetail._native")
pytest.importorskip("distributed")


def blocks(page):
    """Marks, language and text of each."""
    return BLOCK.findall((DOCS / page).read_text())


def files(page):
    """The blocks that are files, by their names."""
    return {name: text for marks, _, text in blocks(page) if (name := (re.findall("file: (.*?) -->", marks) or [None])[0])}


def test_the_commands_print_what_the_page_shows(tmp_path):
    pytest.importorskip("vl_convert")
    for name, text in files("sweep.md").items():
        (tmp_path / name).write_text(text)
    ran = 0
    for _, language, text in blocks("sweep.md"):
        if language != "console" or "pip install" in text:
            continue
        for part in re.split(r"^\$ dovetail sweep ", text, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            arguments = [sys.executable, "-m", "dovetail.sweep.command", *shlex.split(command)]
            done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            printed = iter(done.stdout.splitlines())
            for line in shown:
                assert line in printed, f"{line!r} is not in what is left of {done.stdout}"
            ran += 1
    assert ran == 3


def test_the_grid_of_fifty_captures_is_as_long_as_it_should_be(tmp_path):
    from dovetail.sweep.grid import read

    (text,) = [text for _, language, text in blocks("sweep.md") if language == "toml" and "captures/*.pcap" in text]
    assert len(text.splitlines()) <= 10
    (tmp_path / "captures").mkdir()
    for number in range(50):
        (tmp_path / "captures" / f"{number}.pcap").write_bytes(bytes([number]))
    (tmp_path / "my-box.toml").write_text('name = "my box"\n[[resource]]\nname = "link"\nrate = "1Gbps"\n')
    (tmp_path / "grid.toml").write_text(text)
    assert read(tmp_path / "grid.toml").size == 8000


@pytest.mark.parametrize("name", ["ssh.py", "slurm.py", "kubernetes.py"])
def test_the_scripts_compile(name):
    compile(files("clusters.md")[name], name, "exec")


def test_the_job_that_slurm_gets_is_of_one_worker():
    jobqueue = pytest.importorskip("dask_jobqueue")
    call = re.search(r"SLURMCluster\((.*)\) as cluster", files("clusters.md")["slurm.py"])[1]
    with eval(f"SLURMCluster({call})", {"SLURMCluster": jobqueue.SLURMCluster}) as cluster:
        script = cluster.job_script()
    assert "#SBATCH --partition=batch" in script and "--nthreads 1" in script and "-t 01:00:00" in script


def test_the_cluster_that_kubernetes_gets_has_workers_of_one_thread():
    pytest.importorskip("dask_kubernetes.operator")
    script = files("clusters.md")["kubernetes.py"].split("if __name__")[0]
    names = {}
    exec(script, names)
    worker = names["spec"]["spec"]["worker"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 20 and container["args"][-2:] == ["--nthreads", "1"]
