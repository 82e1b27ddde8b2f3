"""How much goes to a worker at once.

A batch should take a second at least, so that its overhead (2 ms on Dask, and a file) does not count. The longer a sweep has run,
the longer its batches, so that the number of files grows with its logarithm rather than its length. Towards the end they get
shorter again, so that all workers end together.
"""

from dataclasses import dataclass

_MIN_S = 1.0
_MAX_S = 60.0
#: A batch takes this part of the time that the sweep has taken.
_PART = 0.02
#: Points in a batch while nothing is known of their time. What a batch has no time for comes back.
_UNKNOWN = 64
_MAX_POINTS = 20_000
#: How much the last batch counts in the mean.
_GAIN = 0.2


@dataclass
class Pace:
    """What points have taken so far."""

    point_s: float | None = None

    def learn(self, points: int, seconds: float) -> None:
        """A batch of these took that long."""
        if points:
            mean = seconds / points
            self.point_s = mean if self.point_s is None else self.point_s + _GAIN * (mean - self.point_s)

    def batch(self, elapsed_s: float, left: int, workers: int) -> tuple[int, float]:
        """How many points a batch has, and after which time no more are begun."""
        target_s = min(max(elapsed_s * _PART, _MIN_S), _MAX_S)
        fair = max(1, left // (2 * max(workers, 1)))
        if not self.point_s:
            return min(_UNKNOWN, fair), target_s
        least = round(_MIN_S / self.point_s) + 1
        wanted = round(target_s / self.point_s) + 1
        return max(1, min(wanted, max(fair, least), _MAX_POINTS)), target_s
