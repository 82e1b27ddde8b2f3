"""How far a sweep is: points a second, time left, failures. A bar on a terminal or in a notebook, nothing in a pipe."""

import sys
from typing import Any, Protocol


class Progress(Protocol):
    """Told by the coordinator what happens."""

    def begin(self, total: int, already: int) -> None: ...

    def advance(self, finished: int, failed: int) -> None: ...

    def say(self, line: str) -> None: ...

    def end(self) -> None: ...


class Quiet:
    """For callers that want to see nothing."""

    def begin(self, total: int, already: int) -> None:
        """Nothing."""

    def advance(self, finished: int, failed: int) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class Bar:
    """A bar by tqdm, and lines on standard error."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._failed = 0

    def begin(self, total: int, already: int) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        is_shown = _is_notebook() or sys.stderr.isatty()
        self._bar = tqdm(total=total, initial=already, unit=" points", disable=not is_shown, smoothing=0.05)

    def advance(self, finished: int, failed: int) -> None:
        self._failed += failed
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._failed:,} failed", refresh=False)
            self._bar.update(finished + failed)

    def say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules
