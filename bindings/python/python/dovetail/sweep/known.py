"""Which policies there are: a grid that names another one is refused before anything runs."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from .errors import GridError

#: The shaper that gateways are compared with: a sweep can run it, although `dovetail.policies()` does not list it.
_SHAPER = "ingress"


def check(policies: Iterable[str], where: str) -> None:
    """Raises GridError if a policy is not one of Dovetail's. Knobs are checked with each point: they may depend on its scenario."""
    for policy in policies:
        name = policy.partition(":")[0]
        if name not in _names():
            close = get_close_matches(name, _names(), n=1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            raise GridError(f"{where}: there is no policy {name!r}{meant}: there are {', '.join(_names())}")


@cache
def _names() -> tuple[str, ...]:
    import dovetail

    return (*(str(row["policy"]) for row in dovetail.policies()), _SHAPER)
