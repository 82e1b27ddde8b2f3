"""A scheduler of requests, the far queue that it is told of, and the window of a connection."""

import threading
from collections.abc import Callable

import dovetail
import pytest
from dovetail import FarQueue, Offer, RequestScheduler, Turn

SECOND = 1_000_000_000
POLICIES = [policy["policy"] for policy in dovetail.policies() if policy["orders"] == "requests"]


def _gateway(policy: str, rate: float = 100_000.0) -> RequestScheduler:
    """Two classes with weights 2 and 1, and a user in each."""
    gateway = RequestScheduler(policy, rate)
    for at, weight in enumerate([2.0, 1.0]):
        gateway.set_class(at, weight, 0)
        gateway.set_user(at, at, 0)
    return gateway


def _turns(gateway: RequestScheduler, now: int) -> list[Turn]:
    turns = []
    while (turn := gateway.dequeue(now)) is not None:
        turns.append(turn)
    return turns


def _serve(gateway: RequestScheduler, lengths: dict[int, int], rate: float) -> dict[int, int]:
    """A link and its senders: whatever a turn permits comes at the link's rate. When each response was over."""
    left, open_, over, now = dict(lengths), dict.fromkeys(lengths, 0), {}, 0
    for _ in range(100_000):
        for turn in _turns(gateway, now):
            room = left[turn.request] if turn.units is None else turn.units
            open_[turn.request] += room
        flowing = [request for request in left if open_[request] > 0]
        if not left:
            return over
        if not flowing:
            at = gateway.poll_at()
            assert at is not None, f"nothing more is permitted, and {len(left)} responses are not over"
            now = max(now + 1, at)
            continue
        for request in flowing:
            units = min(left[request], open_[request], 1448)
            now += round(units / rate * SECOND)
            gateway.received(request, units, now)
            left[request] -= units
            open_[request] -= units
            if left[request] == 0:
                del left[request]
                over[request] = now
                gateway.ended(request, now)
            elif open_[request] == 0:
                gateway.ready(request, now)
    raise AssertionError("the responses are not over after so many rounds")


def test_there_are_policies_of_requests() -> None:
    assert {"none", "msf-rs", "grants", "delay-pools"} <= set(POLICIES)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_response_comes_to_its_end(policy: str) -> None:
    gateway, lengths = _gateway(policy), {request: 2_000 + 3_000 * request for request in range(6)}
    for request, length in lengths.items():
        gateway.enqueue(request, request % 2, 0, length)
    over = _serve(gateway, lengths, 100_000.0)
    assert set(over) == set(lengths)
    # Ids are free again, and so are users.
    gateway.forget_user(0)
    gateway.set_user(0, 1, max(over.values()))
    gateway.enqueue(0, 0, max(over.values()), 500)
    assert any(turn.request == 0 and turn.releases for turn in _turns(gateway, max(over.values())))
    assert policy in repr(gateway) and all(isinstance(value, float) for value in gateway.figures().values())


def test_what_is_shown_in_the_library_s_documentation() -> None:
    """The example at the head of `dovetail_sched::request`, whose answers are Rust's."""
    gateway = RequestScheduler("msf-rs", 239_000.0)
    gateway.set_class(0, 1.0, 0)
    gateway.set_user(0, 0, 0)
    for request in range(2):
        gateway.enqueue(request, 0, 0)
    first = gateway.dequeue(0)
    assert first is not None and (first.request, first.releases) == (0, True) and "releases request 0" in repr(first)
    assert gateway.dequeue(0) is None
    gateway.received(0, 5_000, 40_000_000)
    gateway.ended(0, 40_000_000)
    assert [turn.request for turn in _turns(gateway, 40_000_000)] == [1]


def test_a_gateway_that_orders_nothing_releases_at_once_and_limits_nothing() -> None:
    gateway = _gateway("none")
    for request in range(3):
        gateway.enqueue(request, request % 2, 7)
    turns = _turns(gateway, 7)
    assert [(turn.request, turn.releases, turn.units) for turn in turns] == [(at, True, None) for at in range(3)]
    assert gateway.first_window is None and gateway.poll_at() is None


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_cancelled_is_never_released_and_frees_its_id(policy: str) -> None:
    gateway = _gateway(policy)
    for request in range(4):
        gateway.enqueue(request, 0, 0, 400_000)
    released = {turn.request for turn in _turns(gateway, 0) if turn.releases}
    for request in range(4):
        gateway.cancel(request, 1)
    assert _turns(gateway, 1) == []
    # Not even later, and the same ids begin anew.
    assert _turns(gateway, 100 * SECOND) == []
    gateway.enqueue(0, 1, 101 * SECOND, 1_000)
    assert released and [turn.request for turn in _turns(gateway, 101 * SECOND) if turn.releases] == [0]


def test_cancelling_makes_room_for_the_next_one() -> None:
    gateway = _gateway("msf-rs:window=1")
    for request in range(3):
        gateway.enqueue(request, 0, 0)
    assert [turn.request for turn in _turns(gateway, 0)] == [0]
    gateway.cancel(1, 5)
    assert _turns(gateway, 5) == [], "one that waits makes none"
    gateway.cancel(0, 6)
    assert [turn.request for turn in _turns(gateway, 6)] == [2]


def test_weights_say_who_is_served_more() -> None:
    gateway = _gateway("grants", 50_000.0)
    gateway.set_class(0, 8.0, 0)
    for request in range(2):
        gateway.enqueue(request, request, 0, 300_000)
    over = _serve(gateway, dict.fromkeys(range(2), 300_000), 50_000.0)
    assert over[0] < over[1]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_class_with_a_rate_has_no_more_than_that(policy: str) -> None:
    gateway, lengths = _gateway(policy), {0: 100_000, 1: 100_000}
    gateway.set_cap(0, 20_000.0, 0)
    for request, length in lengths.items():
        gateway.enqueue(request, request, 0, length)
    over = _serve(gateway, lengths, 100_000.0)
    # A quarter of a second's worth is in the bucket at first, and a turn may overdraw it.
    assert (100_000 - 10_000) / 20_000 <= over[0] / SECOND < 100_000 / 20_000 * 1.05
    if policy in ("none", "grants"):
        # The others have the rest; msf-rs's window and delay-pools' buckets are taken by the one that waits.
        assert over[1] / SECOND < 100_000 / 80_000 * 1.2
    # And without the rate the link's.
    now = over[0] + SECOND
    gateway.set_cap(0, None, now)
    gateway.enqueue(0, 0, now, 100_000)
    assert sum(turn.units or 100_000 for turn in _turns(gateway, now)) > 0
    with pytest.raises(ValueError, match="units a second"):
        gateway.set_cap(0, -1.0, now)


def test_the_window_is_what_is_given() -> None:
    # What the link carries in 34 ms, in whole segments.
    assert RequestScheduler("grants", 1e6).first_window == -(-34_000 // 1448) * 1448
    assert RequestScheduler("grants", 1e6, window=5_000, longest_window=9_000, quantum=100).first_window == 5_000


def test_far_queues_are_seen_and_told() -> None:
    far = FarQueue()
    assert far.delay(0) is None
    for at, took in ((0, 30), (100, 20), (200, 75)):
        probe = far.probe(at * 1_000_000)
        far.back(probe, (at + took) * 1_000_000)
    seen = far.delay(275_000_000)
    assert seen == (55_000_000, None)
    far.back(77, 275_000_000)
    gateway = _gateway("grants")
    gateway.far_queue(seen, 275_000_000)
    assert gateway.figures()["far_delay_ms"] == 55.0
    gateway.far_queue(None, 275_000_000)
    gateway.uplink(True, 275_000_000)
    gateway.stray(None, 3_000, 275_000_000)
    gateway.stray(1, 3_000, 275_000_000)
    far.forget()
    assert far.delay(275_000_000) is None


def test_an_offer_is_what_the_library_s_documentation_shows() -> None:
    """The example of `dovetail_sched::request::Offer`, whose answers are Rust's."""
    offer = Offer(8_688, 350_000, 8_688)
    assert offer.establish(40_000_000) is None and offer.farthest_ns is None, "a server nearby"
    assert offer.wider(20_000) == 20_000 and offer.bytes == 8_688
    offer.offers(20_000)
    assert offer.wider(10_000) is None, "a window is never withdrawn"
    assert offer.bytes == 20_000 and not offer.is_grown
    offer.offers(3 * 8_688)
    assert offer.is_grown and repr(offer) == "<dovetail.Offer of 26064 bytes>"
    assert offer.wider(2**64 - 1) == 350_000

    far = Offer(8_688, 350_000, 8_688)
    assert far.establish(600_000_000) == 14_480
    far.offers(14_480)
    assert far.farthest_ns == 600_000_000
    far.draws_near(40_000_000)
    assert far.farthest_ns is None, "the handshake waited in a queue"


def test_an_offer_begins_with_a_turn_s_window() -> None:
    gateway = _gateway("grants", 1e6)
    gateway.enqueue(0, 0, 0)
    (turn,) = _turns(gateway, 0)
    assert gateway.longest_window == 1_400_000 and turn.window == gateway.first_window
    offer = Offer(gateway.first_window, gateway.longest_window, turn.window)
    assert offer.bytes == turn.window and offer.establish() is None
    assert RequestScheduler("grants", 1e6, window=5_000, longest_window=9_000).longest_window == 9_000


def test_where_no_window_is_limited_it_is_left_to_the_system() -> None:
    gateway = _gateway("none")
    gateway.enqueue(0, 0, 0)
    (turn,) = _turns(gateway, 0)
    offer = Offer(gateway.first_window, gateway.longest_window, turn.window)
    assert offer.bytes is None and offer.establish(600_000_000) is None and offer.farthest_ns is None
    assert offer.wider(turn.window) is None and not offer.is_grown
    assert repr(offer) == "<dovetail.Offer of the system's window>"


def test_knobs_change_while_requests_wait() -> None:
    gateway = _gateway("grants:delay=20ms")
    gateway.enqueue(0, 0, 0)
    gateway.retune("grants:delay=90ms", 1)
    assert gateway.policy == "grants:delay=90ms"
    with pytest.raises(ValueError, match="msf-rs"):
        gateway.retune("msf-rs", 1)
    assert gateway.policy == "grants:delay=90ms" and [turn.request for turn in _turns(gateway, 1)][:1] == [0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: RequestScheduler("drfq", 1e6), "drfq"),
        (lambda: RequestScheduler("grant", 1e6), "did you mean grants"),
        (lambda: RequestScheduler("grants:dely=1ms", 1e6), "delay"),
        (lambda: RequestScheduler("grants", 0.0), "rate"),
        (lambda: RequestScheduler("grants", float("nan")), "rate"),
        (lambda: RequestScheduler("grants", 1e6, quantum=0), "a turn is at least a unit"),
        (lambda: RequestScheduler("grants", 1e6, window=9_000, longest_window=10), "longest_window"),
        (lambda: Offer(9_000, 8_000, 9_000), "longest: it is at least the first window, 9000"),
        (lambda: RequestScheduler("grants", 1e6, ids=0), "ids"),
        (lambda: RequestScheduler("grants", 1e6, ids=2**31), "ids"),
        (lambda: RequestScheduler("grants", 1e6, ids=10).enqueue(10, 0, 0), "request's is 10"),
        (lambda: RequestScheduler("grants", 1e6).enqueue(0, 2**30, 0), "user's is"),
        (lambda: RequestScheduler("grants", 1e6).set_user(0, 2**30, 0), "class's is"),
        (lambda: RequestScheduler("grants", 1e6).set_class(0, float("inf"), 0), "weight"),
        (lambda: RequestScheduler("grants", 1e6).set_class(0, 0.0, 0), "weight"),
        (lambda: RequestScheduler("grants", 1e6).set_rate(-1.0, 0), "rate"),
        (lambda: RequestScheduler("grants", 1e6).stray(2**30, 5, 0), "class's is"),
        (lambda: RequestScheduler("grants", 1e6).cancel(2**30, 0), "request's is"),
    ],
)
def test_bad_input_is_a_clear_error(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_time_does_not_run_back_and_numbers_are_in_range() -> None:
    gateway = _gateway("grants")
    gateway.enqueue(0, 0, 50)
    with pytest.raises(ValueError, match="time goes backwards"):
        gateway.received(0, 10, 49)
    with pytest.raises(OverflowError):
        gateway.enqueue(-1, 0, 50)
    with pytest.raises(OverflowError):
        gateway.received(0, 2**64, 50)
    with pytest.raises(TypeError):
        gateway.received(0, 1.5, 50)  # type: ignore[arg-type]


def test_a_retune_that_fails_does_not_advance_the_time() -> None:
    gateway = _gateway("grants")
    with pytest.raises(ValueError, match="cannot become"):
        gateway.retune("msf-rs", 9)
    assert gateway.dequeue(5) is None and gateway.policy == "grants"


def test_a_request_to_a_distant_server_goes_as_much_earlier() -> None:
    opens = []
    # The far queue bridges 60 ms.
    for distance in (0, 160 * SECOND // 1000):
        gateway = _gateway("grants")
        gateway.stray(None, 50_000, 0)
        gateway.enqueue(0, 0, 0)
        gateway.distance(0, distance, 0)
        assert not _turns(gateway, 0)
        opens.append(gateway.poll_at())
    assert opens == [opens[0], opens[0] - SECOND // 10]


def test_strangers_and_doubles_are_ignored() -> None:
    gateway = _gateway("grants")
    gateway.enqueue(0, 9, 0)
    for tell in (gateway.ready, gateway.ended, gateway.cancel):
        tell(5, 0)
    gateway.received(5, 2**63, 0)
    gateway.unread(5, 2**63, 0)
    assert _turns(gateway, 0) == []
    gateway.enqueue(1, 0, 0, 100)
    gateway.enqueue(1, 1, 0, 100)
    assert [turn.request for turn in _turns(gateway, 0) if turn.releases] == [1]


def test_threads_may_share_one() -> None:
    gateway = _gateway("grants", 1e9)

    def use(first: int) -> None:
        for request in range(first, 400, 4):
            gateway.enqueue(request, request % 2, 0, 100)
            gateway.dequeue(0)

    threads = [threading.Thread(target=use, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for request in range(400):
        gateway.cancel(request, 1)
    assert _turns(gateway, 1) == []


def test_equal_turns_have_equal_hashes() -> None:
    def turn(request: int) -> Turn:
        gateway = _gateway("none")
        gateway.enqueue(request, 0, 0)
        (only,) = _turns(gateway, 0)
        return only

    assert turn(1) == turn(1) and hash(turn(1)) == hash(turn(1)) and {turn(1), turn(1), turn(2)} == {turn(1), turn(2)}
    assert Turn.__hash__ is not None and repr(FarQueue()) == "<dovetail.FarQueue>"
