"""How far a run is, in notebooks and terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Told = Callable[[str, str, int, int | None], None]
"""Told what is done, what is counted, how many are done, and how many there will be."""

Progress = bool | Told | None


@contextmanager
def shown(progress: Progress) -> Iterator[Told | None]:
    """What to tell of progress; a bar is gone when the run is over."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("a progress bar needs tqdm: pip install 'dovetail-sched[progress]'") from error
    bar: Any = None
    task: tuple[str, int | None] | None = None

    def tell(name: str, counts: str, done: int, total: int | None) -> None:
        nonlocal bar, task
        if task != (counts, total):
            if bar is not None:
                bar.close()
            bar = tqdm(total=total, unit=f" {counts}", leave=False)
            task = (counts, total)
        bar.set_description_str(name, refresh=False)
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
