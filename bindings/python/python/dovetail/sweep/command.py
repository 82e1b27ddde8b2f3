"""`dovetail sweep`: arguments, what is printed, and the exit status (0 done, 1 could not, 2 wrong usage, 130 interrupted)."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .coordinator import Tally
from .engine import Engine
from .errors import GridError, SweepError

_EXAMPLES = """\
Examples:
  dovetail sweep grid.toml --out results
      every point of the grid on all cores of this machine
  dovetail sweep grid.toml --out results --resume
      the points that have no result yet: after a stop, or after the grid has grown
  dovetail sweep grid.toml --out results --scheduler tcp://head:8786
      the same on the workers of a Dask scheduler
  dovetail sweep --out results --plot alpha,p99,load
      a chart of what is there; --table p99,throughput_mbps prints medians and intervals
"""


#: How Dask reaches a scheduler.
_TRANSPORTS = ("tcp", "tls", "ucx", "ws", "wss")

#: What a figure can be saved as.
_PICTURES = (".svg", ".png", ".html")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, without `sweep`."""
    status = 0
    try:
        try:
            args = _parsed(arguments)
            if args.plot:
                from .plot import check

                check(_picture_of(args), args.out)
            if args.grid is not None:
                tally = _run(args)
                status = 1 if tally.failed else 0
                print(said(tally, args.out))
            _show(args)
        finally:
            # What cannot be written is noticed here, not as Python ends.
            sys.stdout.flush()
    except BrokenPipeError:
        # A reader that closes the pipe has seen enough.
        _discard_output()
    except GridError as error:
        return _fail(error, 2)
    except SweepError as error:
        return _fail(error, 1)
    except OSError as error:
        _discard_output()
        return _fail(f"{error.filename or 'the output'}: {error.strerror or error}", 1)
    except ImportError as error:
        return _fail(f"{error}: pip install 'dovetail-sched[sweep]'", 1)
    except KeyboardInterrupt:
        return _fail("interrupted: what is stored is kept; continue with --resume", 130)
    return status


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.grid is None and not (args.plot or args.table):
        parser.error("name a grid, or what to show with --plot or --table")
    if args.grid is None and (args.resume or args.records or args.jobs or args.scheduler):
        parser.error("--resume, --records, --jobs and --scheduler need a grid")
    return args


def _run(args: argparse.Namespace) -> Tally:
    from . import dask_engine
    from .run import conduct

    client = dask_engine.connect(args.scheduler) if args.scheduler else None
    return conduct(args.grid, out=args.out, client=client, jobs=args.jobs, resume=args.resume, records=args.records,
                   told=_say_dashboard, columns=_columns(args))


def _columns(args: argparse.Namespace) -> list[str]:
    """What is to be shown, in the order of the options."""
    return [name for named in (args.table, args.plot) if named for name in named.split(",")]


def said(tally: Tally, out: Path) -> str:
    """What a run came to."""
    rate = (tally.finished + tally.failed) / tally.seconds if tally.seconds else 0.0
    parts = [f"{tally.total:,} points"]
    if tally.already:
        parts.append(f"{tally.already:,} with a result before")
    parts.append(f"{tally.finished:,} run in {tally.seconds:.1f} s ({rate:.1f} a second)")
    parts.append(f"{tally.failed:,} failed" + (f", the first: {tally.first_error}" if tally.failed else ""))
    return f"{out}: " + "; ".join(parts)


def _say_dashboard(engine: Engine) -> None:
    dashboard: Any = getattr(engine, "dashboard", lambda: None)()
    if dashboard:
        print(f"dashboard: {dashboard}", file=sys.stderr)


def _show(args: argparse.Namespace) -> None:
    if not (args.plot or args.table):
        return
    from .plot import save
    from .results import load

    results = load(args.out)
    if args.table:
        print(_aligned(results.summary(*args.table.split(","))))
    if args.plot:
        path = _picture_of(args)
        save(results.plot(*args.plot.split(",")), path)
        print(path)


def _picture_of(args: argparse.Namespace) -> Path:
    named: Path | None = args.plot_file
    return named or Path(f"{args.out.name}-{args.plot.replace(',', '-')}.svg")


def _aligned(table: Any) -> str:
    names = table.column_names
    rows = [[_cell(value) for value in row.values()] for row in table.to_pylist()]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [names, *rows]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    # Four digits, but never as 4.122e+04.
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:.0f}"


def _discard_output() -> None:
    """Python writes what it still holds as it ends, and would fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _fail(why: object, status: int) -> int:
    print(f"dovetail: {why}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dovetail sweep",
        description="Run scenarios, captures, policies and seeds in every combination, on this machine or a cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("grid", metavar="GRID", nargs="?", help="the grid (TOML), or a table of points (CSV or Parquet)")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder of the results; created if it is missing")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=_count, help="worker processes on this machine [default: the number of cores]")
    where.add_argument("--scheduler", metavar="ADDRESS", type=_address, help="a Dask scheduler whose workers to use, such as tcp://head:8786")
    parser.add_argument("--resume", action="store_true", help="continue: points that have a result are not run again")
    parser.add_argument("--records", action="store_true", help="keep a row for each packet of every run, too")
    parser.add_argument("--table", metavar="Y[,Y…]", help="print medians and intervals over seeds")
    parser.add_argument("--plot", metavar="X,Y[,COLOUR]", type=_axes, help="draw a figure over an axis")
    parser.add_argument("--plot-file", metavar="FILE", type=_picture, help="where to: .svg, .png or .html [default: DIR-X-Y.svg, or DIR-X-Y-COLOUR.svg]")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("it is a whole number from 1 up")
    return int(text)


def _axes(text: str) -> str:
    if not 2 <= len(list(filter(None, text.split(",")))) <= 3:
        raise argparse.ArgumentTypeError("it is X,Y or X,Y,COLOUR, such as alpha,p99,load")
    return text


def _address(text: str) -> str:
    wrong = argparse.ArgumentTypeError(f"'{text}' is not the address of a scheduler, such as tcp://head:8786")
    try:
        parts = urlsplit(text if "://" in text else f"tcp://{text}")
        is_whole = parts.scheme in _TRANSPORTS and parts.hostname and parts.port
    except ValueError as error:
        raise wrong from error
    if not is_whole:
        raise wrong
    return text


def _picture(text: str) -> Path:
    if not text.endswith(_PICTURES):
        raise argparse.ArgumentTypeError(f"'{text}' does not end in .svg, .png or .html")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
