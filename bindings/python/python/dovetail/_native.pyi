from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, final

from dovetail._limits import Limits, Program

__all__ = [
    "Answer",
    "FarQueue",
    "Packet",
    "RequestScheduler",
    "Scheduler",
    "Simulated",
    "Table",
    "Turn",
    "VERSION",
    "admit",
    "command",
    "compare",
    "explain",
    "policies",
    "reproduce",
    "scenario",
    "scenarios",
    "simulate",
    "tune",
]

VERSION: str

_Options: TypeAlias = dict[str, Any]
_Told: TypeAlias = Callable[[str, str, int, int | None], object] | None
_Stage: TypeAlias = Literal["started", "finished", "dropped", "aborted"]

@final
class Table:
    """A table: whatever reads Arrow's PyCapsule interface reads it, as `polars.DataFrame(table)` does."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list, by name."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream that Arrow's consumers ask for."""

    def __arrow_c_schema__(self) -> object:
        """The types of the columns."""

    def __getitem__(self, key: str, /) -> list[Any]:
        """The values of a column."""

    def __len__(self) -> int:
        """How many rows there are."""

@final
class Packet:
    """A packet, as it leaves a scheduler."""

    @property
    def flow(self) -> int:
        """Its flow."""

    @property
    def bytes(self) -> int:
        """Its length."""

    @property
    def arrival_ns(self) -> int:
        """When it was enqueued."""

    @property
    def demand_ns(self) -> tuple[int, ...]:
        """Its time on each resource."""

    @property
    def handle(self) -> Any:
        """What it carries: the object that was given with it."""

    @property
    def ticket(self) -> int | None:
        """What to give back with feedback; None where it has not been dequeued."""

@final
class Scheduler:
    """Fair queueing over several resources: queues, limits and a policy."""

    def __new__(
        cls, policy: str, resources: int = 1, *, limits: Limits | None = None, programs: Sequence[Program] | None = None
    ) -> Scheduler: ...
    @property
    def policy(self) -> str:
        """The policy's string."""

    @property
    def resources(self) -> int:
        """How many resources a packet crosses."""

    @property
    def has_stages(self) -> bool:
        """Whether the policy orders packets before later resources, too."""

    @property
    def refused(self) -> str | None:
        """Why the last packet that was offered was not queued; None where it was."""

    def enqueue(
        self, flow: int, bytes: int, demand_ns: int | Sequence[int], now_ns: int, handle: object = None
    ) -> bool:
        """Offer a packet: whether it was queued."""

    def dequeue(self, now_ns: int) -> Packet | None:
        """The packet that goes next."""

    def peek(self, now_ns: int) -> Packet | None:
        """The packet that dequeue would give now; it stays."""

    def poll_at(self) -> int | None:
        """When to ask again, where the policy holds packets back."""

    def evictions(self) -> list[Packet]:
        """The packets that lost their places since the last call."""

    def enqueue_batch(
        self, flow: object, bytes: object, demand_ns: object, now_ns: object, handle: object | None = None
    ) -> Any:
        """Offer many packets at once: which of them were queued."""

    def dequeue_batch(self, now_ns: object, most: int | None = None) -> tuple[Any, Any, Any, Any, Any]:
        """Take up to `most` packets at once, as arrays: flow, bytes, arrival_ns, handle, ticket."""

    def feedback(self, flow: int, ticket: int, resource: int, stage: str, took_ns: int, now_ns: int) -> None:
        """Tell what happened to a packet on a resource."""

    def interest(self) -> list[tuple[_Stage, int]]:
        """Which feedback the policy wants: pairs of a stage and a resource."""

    def set_weight(self, flow: int, weight: float) -> None:
        """Give a flow a weight."""

    def set_resource_weights(self, flow: int, weights: Sequence[float]) -> None:
        """Give a flow a weight on each resource."""

    def retune(self, policy: str, now_ns: int) -> None:
        """Change knobs while packets wait: the same policy with other values."""

    def forget(self, flow: int) -> bool:
        """Drop what is known of a flow that has nothing queued or in flight: whether it was so."""

    def backlog(self, flow: int | None = None) -> tuple[int, int]:
        """Packets and bytes that wait, of all flows or of one."""

    def figures(self) -> dict[str, float]:
        """The policy's own figures."""

    def set_program(self, flow: int, program: int) -> None:
        """Say which program a flow's packets run, by its place in the programs that were given."""

    def learnt(self) -> dict[str, tuple[float, float] | None]:
        """What programs cost, as far as it was learnt: ns per byte and ns per packet by name."""

    def enqueue_before(
        self, resource: int, flow: int, bytes: int, demand_ns: int | Sequence[int], now_ns: int, handle: object = None
    ) -> bool:
        """Offer a packet before a later resource."""

    def dequeue_before(self, resource: int, now_ns: int) -> Packet | None:
        """The packet that goes next on a later resource."""

    def poll_at_before(self, resource: int) -> int | None:
        """When to ask again before a later resource."""

    def backlog_before(self, resource: int) -> tuple[int, int]:
        """Packets and bytes that wait before a later resource."""

    def __len__(self) -> int:
        """How many packets wait."""

    def __bool__(self) -> bool:
        """A scheduler without packets is one all the same."""

@final
class Turn:
    """What to do next: release a request, or read more of its response."""

    @property
    def request(self) -> int:
        """The request."""

    @property
    def releases(self) -> bool:
        """Whether this releases it; otherwise it was released before."""

    @property
    def units(self) -> int | None:
        """How many further units of the response may be read; None for all of them."""

    @property
    def window(self) -> int:
        """How many units may be in flight beyond those: the receive window."""

    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class RequestScheduler:
    """Requests and their responses over a narrow link: classes with weights, users in them, and a policy."""

    def __new__(
        cls,
        policy: str,
        rate: float,
        *,
        quantum: int | None = None,
        window: int | None = None,
        longest_window: int | None = None,
        overhead: int | None = None,
        ids: int = 1048576,
    ) -> RequestScheduler: ...
    @property
    def policy(self) -> str:
        """The policy's string."""

    @property
    def first_window(self) -> int | None:
        """The first window of a response in units; None where the policy does not limit senders by windows."""

    def set_class(self, class_: int, weight: float, now_ns: int) -> None:
        """Add a class, or change its weight."""

    def set_user(self, user: int, class_: int, now_ns: int) -> None:
        """Add a user, or move them to another class with all their requests."""

    def forget_user(self, user: int) -> None:
        """The user's id is free."""

    def set_rate(self, rate: float, now_ns: int) -> None:
        """Set the link's rate in units a second."""

    def set_cap(self, class_: int, rate: float | None, now_ns: int) -> None:
        """Set the rate in units a second that a class may not exceed; None for none."""

    def enqueue(self, request: int, user: int, now_ns: int, length: int | None = None) -> None:
        """A request arrived, with its response's length where that is known."""

    def length(self, request: int, units: int, now_ns: int) -> None:
        """The response's length in units, as its sender states it."""

    def received(self, request: int, units: int, now_ns: int) -> None:
        """So many more units of the response were read."""

    def ready(self, request: int, now_ns: int) -> None:
        """Units of the response are there that may not be read yet."""

    def round_trip(self, request: int, takes_ns: int, now_ns: int) -> None:
        """A round trip on the connection that the response comes on takes so long."""

    def offers(self, request: int, window: int, now_ns: int) -> None:
        """The connection that the response comes on offers its sender this window."""

    def ended(self, request: int, now_ns: int) -> None:
        """The response is over. The id is free."""

    def cancel(self, request: int, now_ns: int) -> None:
        """The request is cancelled, waiting or outstanding. The id is free."""

    def uplink(self, is_busy: bool, now_ns: int) -> None:
        """Whether so much is sent up the link unpaced that probes may wait there."""

    def stray(self, class_: int | None, units: int, now_ns: int) -> None:
        """Units came down the link that no request asked for."""

    def far_queue(self, seen: tuple[int, int | None] | None, now_ns: int) -> None:
        """What is known of the link's far queue, as FarQueue.delay has it."""

    def dequeue(self, now_ns: int) -> Turn | None:
        """What to do next. Ask after each event and at poll_at, until None."""

    def poll_at(self) -> int | None:
        """When to ask dequeue again, should nothing happen before."""

    def retune(self, policy: str, now_ns: int) -> None:
        """Change knobs to those of a string of the same policy; no request is lost."""

    def figures(self) -> dict[str, float]:
        """The policy's own figures."""

@final
class FarQueue:
    """How long the queue at a link's far end is, from small packets sent to it and back."""

    def __new__(cls) -> FarQueue: ...
    def probe(self, now_ns: int) -> int:
        """A probe leaves: its number."""

    def back(self, probe: int, now_ns: int) -> None:
        """A probe is back."""

    def delay(self, now_ns: int) -> tuple[int, int | None] | None:
        """How long a packet waits there now, and when the queue is full; None for what is not known."""

    def forget(self) -> None:
        """Probes take another path from now on: nothing is known."""

@final
class Simulated:
    @property
    def summary(self) -> Table: ...
    @property
    def records(self) -> Table | None: ...
    @property
    def document(self) -> str: ...
    @property
    def resources(self) -> list[str]: ...

@final
class Answer:
    @property
    def document(self) -> str: ...
    @property
    def table(self) -> Table: ...

def simulate(options: _Options, own: Sequence[tuple[int, Any]], records: bool, told: _Told) -> Simulated: ...
def scenario(options: _Options) -> str: ...
def compare(options: _Options, told: _Told) -> Answer: ...
def tune(options: _Options, told: _Told) -> Answer: ...
def explain(options: _Options, told: _Told) -> Answer: ...
def reproduce(options: _Options, told: _Told) -> Answer: ...
def admit(options: _Options) -> Answer: ...
def policies() -> str: ...
def scenarios() -> str: ...
def command(args: Sequence[str]) -> int: ...
