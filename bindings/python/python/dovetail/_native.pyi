# Written by bin/python-stubs.
"""
What `import dovetail._native` finds.
"""

from collections.abc import Iterator
from typing import Any, Final, SupportsFloat, SupportsIndex, final

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from dovetail._limits import Limits, Program

_Options: TypeAlias = dict[str, Any]
_Told: TypeAlias = Callable[[str, str, int, int | None], object] | None
_Stage: TypeAlias = Literal["started", "finished", "dropped", "aborted"]

__all__ = ["VERSION", "Answer", "FarQueue", "Offer", "Packet", "RequestScheduler", "Scheduler", "Simulated", "Table", "Turn", "admit", "command", "compare", "explain", "policies", "reproduce", "scenario", "scenarios", "simulate", "table_of", "tune"]

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
    def __repr__(self, /) -> str: ...
    def back(self, /, probe: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Register a returned probe; unknown numbers are ignored.
        """
    def delay(self, /, now_ns: SupportsIndex) -> tuple[int, int | None] | None:
        """
        (delay of a packet arriving there now, delay when the queue is full) in ns; None if unknown.
        """
    def forget(self, /) -> None:
        """
        Call when probes change path: discards what was learnt.
        """
    def probe(self, /, now_ns: SupportsIndex) -> int:
        """
        Register a departing probe; returns its number.
        """

@final
class Offer:
    """
    The receive window that a connection to a server offers.
    """
    def __new__(cls, /, first: SupportsIndex | None, longest: SupportsIndex, begins: SupportsIndex) -> Offer:
        """
        The offer of a connection that begins with a window of `begins` bytes, a turn's, under a policy whose windows are `first`
        to `longest` bytes long: a RequestScheduler's `first_window` and `longest_window`. Where `first` is None the window is
        left to the system.
        """
    def __repr__(self, /) -> str: ...
    @property
    def bytes(self, /) -> int | None:
        """
        The window in bytes; None if it is left to the system.
        """
    def draws_near(self, /, least_ns: SupportsIndex) -> None:
        """
        The connection's minimum round trip so far: a server nearby passes for a far one if its handshake waited in a queue.
        """
    def establish(self, /, round_trip_ns: SupportsIndex | None = None) -> int | None:
        """
        The connection is established, by a handshake of this round trip if known. Returns the window to offer from now on, to be
        reported with offers; None if it is the one that is offered already.
        """
    @property
    def farthest_ns(self, /) -> int | None:
        """
        The round trip to a server that is so far away that its windows have to grow fast, for RequestScheduler.round_trip; None
        for nearer ones, and where the window is left to the system.
        """
    @property
    def is_grown(self, /) -> bool:
        """
        Whether the window has grown so wide that the connection should not be used for another response.
        """
    def offers(self, /, window: SupportsIndex) -> None:
        """
        The connection offers this window from now on.
        """
    def wider(self, /, window: SupportsIndex) -> int | None:
        """
        The window to offer if a turn asks for this one; None if it is offered already, since a window is never withdrawn.
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
        Pass this back with feedback; None before the packet is dequeued.
        """

@final
class RequestScheduler:
    """
    Requests and their responses over a narrow link: classes with weights, users in them, and a policy.
    """
    def __new__(cls, /, policy: str, rate: SupportsFloat | SupportsIndex, *, quantum: SupportsIndex | None = None, window: SupportsIndex | None = None, longest_window: SupportsIndex | None = None, overhead: SupportsIndex | None = None, ids: SupportsIndex = 1048576) -> RequestScheduler:
        """
        A scheduler for this policy, such as "grants" or "msf-rs:window=3", and for a link of `rate` units a second. The other
        parameters are in units and default to values for HTTP over TCP. All ids are below `ids`.
        """
    def __repr__(self, /) -> str: ...
    def cancel(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The request is cancelled, waiting or outstanding. Its id can be reused.
        """
    def dequeue(self, /, now_ns: SupportsIndex) -> Turn | None:
        """
        The next action. Call after each event and at poll_at, until it returns None.
        """
    def distance(self, /, request: SupportsIndex, takes_ns: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        How long after the response's next turn the first units that it lets in reach the link, as far as known.
        """
    def ended(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The response ended, completely or cut short by its sender. Its id can be reused.
        """
    def enqueue(self, /, request: SupportsIndex, user: SupportsIndex, now_ns: SupportsIndex, length: SupportsIndex | None = None) -> None:
        """
        A request arrived, with its response's length if known. Ignored if the user is unknown or the id is in use.
        """
    def far_queue(self, /, seen: tuple[SupportsIndex, SupportsIndex | None] | None, now_ns: SupportsIndex) -> None:
        """
        The delay of the link's far queue, as `FarQueue.delay` returns it: now, and when it is full; None if unknown.
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
        Release a user's id. Ignored while one of their requests is waiting or outstanding.
        """
    def length(self, /, request: SupportsIndex, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The response's length in units, as its sender states it.
        """
    @property
    def longest_window(self, /) -> int:
        """
        The longest window of a response in units, as it was given or by default.
        """
    def offers(self, /, request: SupportsIndex, window: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The receive window that the response's connection already offers, left over from earlier responses.
        """
    @property
    def policy(self, /) -> str:
        """
        The policy's string.
        """
    def poll_at(self, /) -> int | None:
        """
        When to call dequeue again if no event comes first.
        """
    def ready(self, /, request: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Data has arrived that may not be read yet.
        """
    def received(self, /, request: SupportsIndex, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        This many more units of the response were read.
        """
    def retune(self, /, policy: str, now_ns: SupportsIndex) -> None:
        """
        Change knobs to those of a string of the same policy; no request is lost.
        """
    def round_trip(self, /, request: SupportsIndex, takes_ns: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        The round-trip time of the response's connection, as measured by its transport.
        """
    def set_cap(self, /, class_: SupportsIndex, rate: SupportsFloat | SupportsIndex | None, now_ns: SupportsIndex) -> None:
        """
        Limit a class to this rate in units a second; None removes the limit. What was already permitted is unaffected.
        """
    def set_class(self, /, class_: SupportsIndex, weight: SupportsFloat | SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Add a class, or change its weight. Set classes and users before referring to them.
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
        Units arrived that no request asked for, for this class or an unknown one.
        """
    def unread(self, /, request: SupportsIndex, units: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        This many units of the response, in all, have arrived and were not read, whether they may be or not.
        """
    def uplink(self, /, is_busy: bool, now_ns: SupportsIndex) -> None:
        """
        Whether unpaced traffic fills the uplink, so that probes may queue there.
        """

@final
class Scheduler:
    """
    Fair queueing over several resources: queues, limits and a policy.
    """
    def __bool__(self, /) -> bool:
        """
        Always true, even when empty.
        """
    def __len__(self, /) -> int:
        """
        How many packets are queued.
        """
    def __new__(cls, /, policy: str, resources: SupportsIndex = 1, *, limits: Limits | None = None, programs: Sequence[Program] | None = None) -> Scheduler:
        """
        A scheduler for this policy, such as "drfq" or "atfq:batch=20", over this many resources.
        """
    def __repr__(self, /) -> str: ...
    def backlog(self, /, flow: SupportsIndex | None = None) -> tuple[int, int]:
        """
        Packets and bytes queued, of all flows or of one.
        """
    def backlog_before(self, /, resource: SupportsIndex) -> tuple[int, int]:
        """
        Packets and bytes queued before a later resource.
        """
    def dequeue(self, /, now_ns: SupportsIndex) -> Packet | None:
        """
        The next packet to send. None while packets are queued means "not now": ask again at poll_at, or after the next feedback
        or arrival.
        """
    def dequeue_batch(self, /, now_ns: object, most: SupportsIndex | None = None) -> tuple[Any, Any, Any, Any, Any]:
        """
        Take up to `most` packets at once, as arrays: flow, bytes, arrival_ns, handle, ticket. Needs numpy. now_ns is one time for
        all, or an array with a time for each; stops at the first time for which there is no packet. The handle of a packet that
        enqueue took without one is 2^64 - 1.
        """
    def dequeue_before(self, /, resource: SupportsIndex, now_ns: SupportsIndex) -> Packet | None:
        """
        The next packet to send on a later resource.
        """
    def discard(self, /, flow: SupportsIndex) -> list[Packet]:
        """
        Take all packets of a flow that are queued before the first resource out of the queues, for example when its port goes
        down, and list them, oldest first, behind any evictions not collected yet. The flow is not charged for them.
        """
    def enqueue(self, /, flow: SupportsIndex, bytes: SupportsIndex, demand_ns: int | Sequence[int], now_ns: SupportsIndex, handle: object = None) -> bool:
        """
        Offer a packet. Returns whether it was queued. Other packets may have been evicted either way: see evictions.
        """
    def enqueue_batch(self, /, flow: object, bytes: object, demand_ns: object, now_ns: object, handle: object | None = None) -> Any:
        """
        Offer many packets at once; returns a boolean array of which were queued. Needs numpy. Arrays of whole numbers; demand_ns has
        a row for each packet. Without handles, a packet's handle is its index.
        """
    def enqueue_before(self, /, resource: SupportsIndex, flow: SupportsIndex, bytes: SupportsIndex, demand_ns: int | Sequence[int], now_ns: SupportsIndex, handle: object = None) -> bool:
        """
        Offer a packet before a later resource.
        """
    def evictions(self, /) -> list[Packet]:
        """
        Packets evicted since the last call.
        """
    def feedback(self, /, flow: SupportsIndex, ticket: SupportsIndex, resource: SupportsIndex, stage: str, took_ns: SupportsIndex, now_ns: SupportsIndex) -> None:
        """
        Report what happened to a packet on a resource: "started", "finished", "dropped" or "aborted".
        """
    def figures(self, /) -> dict[str, float]:
        """
        The policy's own figures.
        """
    def forget(self, /, flow: SupportsIndex) -> bool:
        """
        Forget an idle flow (nothing queued or in flight). Returns whether it was forgotten.
        """
    @property
    def has_stages(self, /) -> bool:
        """
        Whether the policy orders packets before later resources, too.
        """
    def interest(self, /) -> list[tuple[_Stage, int]]:
        """
        The feedback the policy needs, as (stage, resource) pairs. If there are any, report drops too.
        """
    def learnt(self, /) -> dict[str, tuple[float, float] | None]:
        """
        Learnt program costs by name: (ns per byte, ns per packet), or None if not learnt yet.
        """
    def peek(self, /, now_ns: SupportsIndex) -> Packet | None:
        """
        The packet that dequeue would return now, left in the queue.
        """
    @property
    def policy(self, /) -> str:
        """
        The policy's string.
        """
    def poll_at(self, /) -> int | None:
        """
        When to call dequeue again, if the policy is holding packets back.
        """
    def poll_at_before(self, /, resource: SupportsIndex) -> int | None:
        """
        When to call dequeue_before again, if the policy is holding packets back.
        """
    @property
    def refused(self, /) -> str | None:
        """
        Why the last offered packet was refused; None if it was queued.
        """
    @property
    def resources(self, /) -> int:
        """
        How many resources a packet crosses.
        """
    def retune(self, /, policy: str, now_ns: SupportsIndex) -> None:
        """
        Change knobs while packets wait: the same policy with other values.
        """
    def set_program(self, /, flow: SupportsIndex, program: SupportsIndex) -> None:
        """
        Set which program a flow's packets run: an index into `programs`.
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
    A table, readable by anything that supports Arrow's PyCapsule interface, such as `polars.DataFrame(table)`.
    """
    def __arrow_c_schema__(self, /) -> object:
        """
        The types of the columns.
        """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        The stream that Arrow's consumers ask for.
        """
    def __contains__(self, column: Any, /) -> bool:
        """
        Whether there is a column of this name.
        """
    def __getitem__(self, column: str, /) -> list[Any]:
        """
        The values of a column.
        """
    def __iter__(self, /) -> Iterator[str]:
        """
        The names of the columns, one after the other.
        """
    def __len__(self, /) -> int:
        """
        How many rows there are.
        """
    def __reduce__(self, /) -> tuple[Any, ...]:
        """
        For pickle and copy: the function that makes this table again, and what to call it with.
        """
    def __repr__(self, /) -> str: ...
    def _repr_html_(self, /) -> str:
        """
        The first rows, for notebooks.
        """
    @property
    def columns(self, /) -> list[str]:
        """
        The names of the columns.
        """
    def keys(self, /) -> list[str]:
        """
        The names of the columns: `dict(table)` has each column as a list.
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
    def __hash__(self, /) -> int: ...
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

def table_of(fields: Sequence[tuple[str, str, bool]], batches: Sequence[Sequence[Any]]) -> Table:
    """
    The table of these columns, from what it was pickled as.
    """

def tune(options: _Options, told: _Told) -> Answer:
    """
    Tunes knobs.
    """
