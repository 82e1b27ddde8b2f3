# Written by bin/python-stubs.
"""
What `import dovetail._native` finds.
"""

from typing import Any, Final, SupportsFloat, SupportsIndex, final

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from dovetail._limits import Limits, Program

_Options: TypeAlias = dict[str, Any]
_Told: TypeAlias = Callable[[str, str, int, int | None], object] | None
_Stage: TypeAlias = Literal["started", "finished", "dropped", "aborted"]

__all__ = ["VERSION", "Answer", "FarQueue", "Packet", "RequestScheduler", "Scheduler", "Simulated", "Table", "Turn", "admit", "command", "compare", "explain", "policies", "reproduce", "scenario", "scenarios", "simulate", "tune"]

VERSION: Final[str]

@final
class Answer:
    """
    A document as JSON, and its rows.
    """
    @property
    def document(self, /) -> str: ...
    @property
    def table(self, /) -> Table: ...

@final
class FarQueue:
    """
    How long the queue at a link's far end is, from small packets sent to it and back.
    """
    def __new__(cls, /) -> FarQueue: ...
    def back(self, /, probe: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        A probe is back. Numbers that are not in flight are ignored.
        """
    def delay(self, /, now_ns: SupportsIndex) -> tuple[int, int | None] | None:
        """
        How long a packet waits that arrives there now, and how long when the queue is full, in nanoseconds; None for what is
        not known.
        """
    def forget(self, /) -> None:
        """
        Probes take another path from now on: nothing is known.
        """
    def probe(self, /, now_ns: SupportsIndex) -> int:
        """
        A probe leaves: its number.
        """

@final
class Packet:
    """
    A packet, as it leaves a scheduler.
    """
    def __repr__(self, /) -> str: ...
    @property
    def arrival_ns(self, /) -> int:
        """
        When it was enqueued.
        """
    @property
    def bytes(self, /) -> int:
        """
        Its length.
        """
    @property
    def demand_ns(self, /) -> tuple[int, ...]:
        """
        Its time on each resource.
        """
    @property
    def flow(self, /) -> int:
        """
        Its flow.
        """
    @property
    def handle(self, /) -> Any:
        """
        What it carries: the object that was given with it.
        """
    @property
    def ticket(self, /) -> int | None:
        """
        What to give back with feedback; None where it has not been dequeued.
        """

@final
class RequestScheduler:
    """
    Requests and their responses over a narrow link: classes with weights, users in them, and a policy.
    """
    def __new__(cls, /, policy: str, rate: SupportsFloat | SupportsIndex, *, quantum: SupportsIndex | None = None, window: SupportsIndex | None = None, longest_window: SupportsIndex | None = None, overhead: SupportsIndex | None = None, ids: SupportsIndex = 1048576) -> RequestScheduler:
        """
        A scheduler under this policy, such as "grants" or "msf-rs:window=3", for a link of so many units a second; the other
        parameters are in units, and are made for HTTP over TCP where they are not given. Ids are below `ids`.
        """
    def __repr__(self, /) -> str: ...
    def cancel(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The request is cancelled, waiting or outstanding. The id is free.
        """
    def dequeue(self, /, now_ns: SupportsIndex) -> Turn | None:
        """
        What to do next. Ask after each event and at poll_at, until None.
        """
    def ended(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The response is over, whole or broken off by its sender. The id is free.
        """
    def enqueue(self, /, request: SupportsIndex, user: SupportsIndex, now_ns: SupportsIndex, length: SupportsIndex | None = None) -> None:
        """
        A request arrived, with its response's length where that is known. One of an unknown user, or with an id that is
        taken, is ignored.
        """
    def far_queue(self, /, seen: tuple[SupportsIndex, SupportsIndex | None] | None, now_ns: SupportsIndex) -> None:
        """
        What is known of the link's far queue, as `FarQueue.delay` has it: its delay now and when it is full; None if nothing.
        """
    def figures(self, /) -> dict[str, float]:
        """
        The policy's own figures.
        """
    @property
    def first_window(self, /) -> int | None:
        """
        The first window of a response in units; None where the policy does not limit senders by windows.
        """
    def forget_user(self, /, user: SupportsIndex) -> None:
        """
        The user's id is free. Ignored while a request of theirs is waiting or outstanding.
        """
    def length(self, /, request: SupportsIndex, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The response's length in units, as its sender states it.
        """
    def offers(self, /, request: SupportsIndex, window: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The connection that the response comes on offers its sender this window, because of earlier responses on it.
        """
    @property
    def policy(self, /) -> str:
        """
        The policy's string.
        """
    def poll_at(self, /) -> int | None:
        """
        When to ask dequeue again, should nothing happen before.
        """
    def ready(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Units of the response are there that may not be read yet.
        """
    def received(self, /, request: SupportsIndex, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        So many more units of the response were read.
        """
    def retune(self, /, policy: str, now_ns: SupportsIndex) -> None:
        """
        Change knobs to those of a string of the same policy; no request is lost.
        """
    def round_trip(self, /, request: SupportsIndex, takes_ns: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        A round trip on the connection that the response comes on takes so long, as its transport measures it.
        """
    def set_cap(self, /, class_: SupportsIndex, rate: SupportsFloat | SupportsIndex | None, now_ns: SupportsIndex) -> None:
        """
        Set the rate in units a second that a class may not exceed; None for none. What is in flight goes on with what it was
        let have.
        """
    def set_class(self, /, class_: SupportsIndex, weight: SupportsFloat | SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Add a class, or change its weight. Classes and users are set before anything names them.
        """
    def set_rate(self, /, rate: SupportsFloat | SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Set the link's rate in units a second.
        """
    def set_user(self, /, user: SupportsIndex, class_: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Add a user, or move them to another class with all their requests.
        """
    def stray(self, /, class_: SupportsIndex | None, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Units came down the link that no request asked for, of this class or of an unknown one.
        """
    def uplink(self, /, is_busy: bool, now_ns: SupportsIndex) -> None:
        """
        Whether so much is sent up the link unpaced that probes may wait there.
        """

@final
class Scheduler:
    """
    Fair queueing over several resources: queues, limits and a policy.
    """
    def __bool__(self, /) -> bool:
        """
        A scheduler without packets is one all the same.
        """
    def __len__(self, /) -> int:
        """
        How many packets wait.
        """
    def __new__(cls, /, policy: str, resources: SupportsIndex = 1, *, limits: Limits | None = None, programs: Sequence[Program] | None = None) -> Scheduler:
        """
        A scheduler under this policy, such as "drfq" or "atfq:batch=20", before so many resources.
        """
    def __repr__(self, /) -> str: ...
    def backlog(self, /, flow: SupportsIndex | None = None) -> tuple[int, int]:
        """
        Packets and bytes that wait, of all flows or of one.
        """
    def backlog_before(self, /, resource: SupportsIndex) -> tuple[int, int]:
        """
        Packets and bytes that wait before a later resource.
        """
    def dequeue(self, /, now_ns: SupportsIndex) -> Packet | None:
        """
        The packet that goes next. None with packets waiting means "not now": ask again at poll_at, or after the next feedback
        or arrival.
        """
    def dequeue_batch(self, /, now_ns: object, most: SupportsIndex | None = None) -> tuple[Any, Any, Any, Any, Any]:
        """
        Take up to `most` packets at once, as arrays: flow, bytes, arrival_ns, handle, ticket. now_ns is one time for all, or
        an array with a time for each; the first time at which there is none ends it.
        """
    def dequeue_before(self, /, resource: SupportsIndex, now_ns: SupportsIndex) -> Packet | None:
        """
        The packet that goes next on a later resource.
        """
    def enqueue(self, /, flow: SupportsIndex, bytes: SupportsIndex, demand_ns: int | Sequence[int], now_ns: SupportsIndex, handle: object = None) -> bool:
        """
        Offer a packet: whether it was queued. Others may have been evicted for it, also where it was not: see evictions.
        """
    def enqueue_batch(self, /, flow: object, bytes: object, demand_ns: object, now_ns: object, handle: object | None = None) -> Any:
        """
        Offer many packets at once: which of them were queued. Arrays of whole numbers; demand_ns has a row for each packet.
        Without handles, a packet carries its place in the arrays.
        """
    def enqueue_before(self, /, resource: SupportsIndex, flow: SupportsIndex, bytes: SupportsIndex, demand_ns: int | Sequence[int], now_ns: SupportsIndex, handle: object = None) -> bool:
        """
        Offer a packet before a later resource.
        """
    def evictions(self, /) -> list[Packet]:
        """
        The packets that lost their places since the last call.
        """
    def feedback(self, /, flow: SupportsIndex, ticket: SupportsIndex, resource: SupportsIndex, stage: str, took_ns: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Tell what happened to a packet on a resource: "started", "finished", "dropped" or "aborted".
        """
    def figures(self, /) -> dict[str, float]:
        """
        The policy's own figures.
        """
    def forget(self, /, flow: SupportsIndex) -> bool:
        """
        Drop what is known of a flow that has nothing queued or in flight: whether it was so.
        """
    @property
    def has_stages(self, /) -> bool:
        """
        Whether the policy orders packets before later resources, too.
        """
    def interest(self, /) -> list[tuple[_Stage, int]]:
        """
        Which feedback the policy wants: pairs of a stage and a resource. A policy that wants any wants to know of drops, too.
        """
    def learnt(self, /) -> dict[str, tuple[float, float] | None]:
        """
        What programs cost, as far as it was learnt: ns per byte and ns per packet by name.
        """
    def peek(self, /, now_ns: SupportsIndex) -> Packet | None:
        """
        The packet that dequeue would give now; it stays.
        """
    @property
    def policy(self, /) -> str:
        """
        The policy's string.
        """
    def poll_at(self, /) -> int | None:
        """
        When to ask again, where the policy holds packets back.
        """
    def poll_at_before(self, /, resource: SupportsIndex) -> int | None:
        """
        When to ask again before a later resource.
        """
    @property
    def refused(self, /) -> str | None:
        """
        Why the last packet that was offered was not queued; None where it was.
        """
    @property
    def resources(self, /) -> int: ...
    def retune(self, /, policy: str, now_ns: SupportsIndex) -> None:
        """
        Change knobs while packets wait: the same policy with other values.
        """
    def set_program(self, /, flow: SupportsIndex, program: SupportsIndex) -> None:
        """
        Say which program a flow's packets run, by its place in the programs that were given.
        """
    def set_resource_weights(self, /, flow: SupportsIndex, weights: Sequence[float]) -> None:
        """
        Give a flow a weight on each resource.
        """
    def set_weight(self, /, flow: SupportsIndex, weight: SupportsFloat | SupportsIndex) -> None:
        """
        Give a flow a weight.
        """

@final
class Simulated:
    """
    What runs of policies came to, for the class `Result`.
    """
    @property
    def document(self, /) -> str: ...
    @property
    def records(self, /) -> Table | None: ...
    @property
    def resources(self, /) -> list[str]: ...
    @property
    def summary(self, /) -> Table: ...

@final
class Table:
    """
    A table: whatever reads Arrow's PyCapsule interface reads it, as `polars.DataFrame(table)` does.
    """
    def __arrow_c_schema__(self, /) -> object:
        """
        The types of the columns.
        """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        The stream that Arrow's consumers ask for.
        """
    def __getitem__(self, column: str, /) -> list[Any]:
        """
        The values of a column.
        """
    def __len__(self, /) -> int:
        """
        How many rows there are.
        """
    def __repr__(self, /) -> str: ...
    @property
    def columns(self, /) -> list[str]:
        """
        The names of the columns.
        """
    def to_dict(self, /) -> dict[str, list[Any]]:
        """
        Every column as a list, by name.
        """

@final
class Turn:
    """
    What to do next: release a request, or read more of its response.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def releases(self, /) -> bool:
        """
        Whether this releases it; otherwise it was released before.
        """
    @property
    def request(self, /) -> int:
        """
        The request.
        """
    @property
    def units(self, /) -> int | None:
        """
        How many further units of the response may be read; None for all of them.
        """
    @property
    def window(self, /) -> int:
        """
        How many units may be in flight beyond those: the receive window.
        """

def admit(options: _Options) -> Answer:
    """
    Asks for reservations.
    """

def command(args: Sequence[str]) -> int:
    """
    The whole command; its exit status.
    """

def compare(options: _Options, told: _Told) -> Answer:
    """
    Compares policies.
    """

def explain(options: _Options, told: _Told) -> Answer:
    """
    Explains who made whose packets wait.
    """

def policies() -> str:
    """
    Which policies there are, as JSON.
    """

def reproduce(options: _Options, told: _Told) -> Answer:
    """
    Runs published experiments again.
    """

def scenario(options: _Options) -> str:
    """
    A scenario with its overrides as TOML, the same text for equal scenarios.
    """

def scenarios() -> str:
    """
    Which scenarios there are, as JSON.
    """

def simulate(options: _Options, own: Sequence[tuple[int, Any]], records: bool, told: _Told) -> Simulated:
    """
    Runs policies over one sample of the traffic; `own` are those that are objects, with their places in the list of all.
    """

def tune(options: _Options, told: _Told) -> Answer:
    """
    Tunes knobs.
    """
