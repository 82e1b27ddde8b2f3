"""What a sweep costs beside xargs, and what is left of it when its processes are killed.

Every way runs the same points: one scenario under one policy with another seed each, of a length at which the plain command takes
about 34 ms of processor time. The rows are in the README beside this folder.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dovetail
import psutil

_WANTED_S = 0.034
_POLICY = "drfq"
_WORKERS = 2
_SAMPLE_S = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dovetail", required=True, type=Path, help="the plain command")
    parser.add_argument("--points", type=int, default=2000, help="how many points [default: 2000]")
    parser.add_argument("--rounds", type=int, default=1, help="how often both take turns; medians are printed [default: 1]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Bench(args.dovetail.resolve(), args.points, Path(folder)).run(args.rounds)


class Bench:
    def __init__(self, command: Path, points: int, folder: Path) -> None:
        self.command, self.points, self.folder = command, points, folder
        self.scenario = folder / "box.toml"
        self.grid = folder / "grid.toml"

    def run(self, rounds: int) -> None:
        point_s = self._calibrated()
        self.grid.write_text(f'scenario = "box.toml"\npolicy = "{_POLICY}"\nseed = "1..{self.points}"\n')
        row("a point by the plain command, ms", f"{point_s * 1e3:.1f}")
        plain, swept, memory = [], [], []
        for at in range(rounds):
            plain.append(self._xargs())
            seconds, memory = self._sweep(self.folder / f"sweep-{at}")
            swept.append(seconds)
        for at, kind in enumerate(("s", "s of processor time")):
            row(f"{self.points:,} points by xargs -P{_WORKERS}, {kind}", f"{statistics.median(took[at] for took in plain):.1f}")
            row(f"the same by a sweep on {_WORKERS} workers, from start to exit, {kind}",
                f"{statistics.median(took[at] for took in swept):.1f}")
            over = statistics.median(b[at] / a[at] for a, b in zip(plain, swept, strict=True))
            row("overhead of the sweep, %", f"{(over - 1) * 100:.1f}", "at most 10", over <= 1.1)
        quarter, last = memory[len(memory) // 4], max(memory[-len(memory) // 4 :])
        row("coordinator's memory after a quarter, MB", f"{quarter / 1e6:.0f}")
        row("and at most in the last quarter, MB", f"{last / 1e6:.0f}", "flat: at most 10 % more", last <= quarter * 1.1)
        undisturbed = self._table(self.folder / "sweep-0")
        row("bytes of its table", f"{len(undisturbed):,}")
        self._sweep(self.folder / "killed", kill="worker")
        row("a worker killed half-way", *self._same("killed", undisturbed))
        self._sweep(self.folder / "resumed", kill="coordinator")
        stored = len(dovetail.load(self.folder / "resumed"))
        self._sweep(self.folder / "resumed", "--resume")
        row(f"the coordinator killed at {stored:,} points, and resumed", *self._same("resumed", undisturbed))

    def _same(self, name: str, undisturbed: bytes) -> tuple[str, str, bool]:
        same = self._table(self.folder / name) == undisturbed
        return "the same bytes" if same else "other bytes", "the same bytes", same

    def _table(self, out: Path) -> bytes:
        """The sorted table of all points."""
        path = self.folder / "table.parquet"
        dovetail.load(out).write(path)
        return path.read_bytes()

    def _calibrated(self) -> float:
        """Sets the scenario's duration, and returns the seconds that a point takes."""
        duration, seconds = 0.1, 0.0
        for _ in range(6):
            text = dovetail.scenario("middlebox", {"duration": f"{round(duration * 1e6)}us"})
            self.scenario.write_text(text)
            seconds = statistics.median(self._once(seed) for seed in range(9))
            if abs(seconds / _WANTED_S - 1) < 0.05:
                break
            duration *= min(max(_WANTED_S / seconds, 0.2), 5)
        return seconds

    def _plain(self, seed: str) -> list[str]:
        return [str(self.command), "compare", str(self.scenario), "--seed", seed, "--policy", _POLICY, "--jobs", "1", "--json"]

    def _once(self, seed: int) -> float:
        start = _processor_s()
        subprocess.run(self._plain(str(seed)), check=True, stdout=subprocess.DEVNULL)
        return _processor_s() - start

    def _xargs(self) -> tuple[float, float]:
        """Seconds, and seconds of processor time."""
        seeds = "\n".join(map(str, range(1, self.points + 1)))
        start, processor = time.perf_counter(), _processor_s()
        subprocess.run(["xargs", f"-P{_WORKERS}", "-I{}", *self._plain("{}")], input=seeds, text=True, check=True,
                       stdout=subprocess.DEVNULL)
        return time.perf_counter() - start, _processor_s() - processor

    def _sweep(self, out: Path, *more: str, kill: str = "") -> tuple[tuple[float, float], list[int]]:
        """Seconds, seconds of processor time, and the coordinator's resident bytes every so often."""
        arguments = [str(self.grid), "--out", str(out), "--jobs", str(_WORKERS), *more]
        start, processor, memory = time.perf_counter(), _processor_s(), []
        coordinator = psutil.Popen([sys.executable, "-m", "dovetail.sweep.command", *arguments], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while coordinator.poll() is None:
            if (out / "results").is_dir() and any((out / "results").glob("*.parquet")):
                memory += _resident(coordinator)
                if kill and len(dovetail.load(out)) >= self.points // 2:
                    (self._a_worker(coordinator) if kill == "worker" else coordinator).kill()
                    kill = ""
            time.sleep(_SAMPLE_S)
        return (time.perf_counter() - start, _processor_s() - processor), memory

    def _a_worker(self, coordinator: psutil.Process) -> psutil.Process:
        """The child that has worked most."""
        return max(coordinator.children(recursive=True), key=lambda child: sum(child.cpu_times()[:2]))


def _processor_s() -> float:
    """What processes that have ended, started here, have taken of processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _resident(process: psutil.Process) -> list[int]:
    """Its resident bytes, unless it has just ended."""
    try:
        return [process.memory_info().rss]
    except psutil.Error:
        return []


def row(what: str, value: str, goal: str = "", is_met: bool = True) -> None:
    print(f"{what:<78}{value:>16}  {goal}{'' if is_met else ': MISSED'}", flush=True)


if __name__ == "__main__":
    main()
