# %% [markdown]
# # Gallery: a policy of your own
#
# A Python class can be a policy. It runs beside the built-in ones over the same packets, with the same queues, limits and drops, so
# that an idea can be judged before it is written in Rust. Every decision goes through the interpreter, and the end of this page shows
# what that costs.
#
# The idea: *earliest deadline first*. Each flow may say how long its packets may take, and the packet whose time is up first goes
# first. Two flows share a box with a sender that takes all it can get: calls, which are urgent, and web traffic, which is less so.

# %%
import heapq
import time

import altair
import dovetail
import polars

BOX = {
    "name": "box",
    "duration": "1s",
    "pipeline": "no-wait",
    "queue_packets": 50,
    "resource": [{"name": "cpu"}, {"name": "link", "rate": "100Mbps"}],
    "class": [{"name": "all", "cost": {"cpu": "5ns*bytes + 10us"}}],
    "flow": [
        {"name": "calls", "size": 200, "arrivals": {"poisson": "1000/s"}},
        {"name": "web", "size": 1000, "arrivals": {"poisson": "3000/s"}},
        {"name": "bulk", "size": 1500, "arrivals": {"poisson": "8000/s"}},
    ],
}

# %% [markdown]
# A policy only orders. It is told which packets joined the tails of their flows' queues and which lost their places, and when it is
# asked, it names the flow whose oldest packet goes next. This one tells flows apart by the lengths of their packets.


# %%
class EarliestDeadline:
    """The packet whose time is up first."""

    name = "earliest deadline"

    def __init__(self, allowed_ns):
        self.allowed_ns = allowed_ns
        self.deadlines = {}

    def enqueued(self, flow, bytes, demand_ns, now_ns):
        self.deadlines.setdefault(flow, []).append(now_ns + self.allowed_ns[bytes])

    def dequeue(self, now_ns):
        flow = min((flow for flow, waiting in self.deadlines.items() if waiting), key=lambda flow: self.deadlines[flow][0])
        self.deadlines[flow].pop(0)
        return flow

    def evicted(self, flow, end):
        self.deadlines[flow].pop(0 if end == "head" else -1)


ALLOWED = {200: 1_000_000, 1000: 20_000_000, 1500: 1_000_000_000}
result = dovetail.simulate(BOX, ["fifo", "drr", "drfq", EarliestDeadline(ALLOWED)], records=True)
polars.DataFrame(result.summary).select(
    "policy", polars.col("utilisation.link", "latency_us.p50", "latency_us.p99").round(3), "dropped"
)

# %% [markdown]
# The figures of all packets together say little here: what matters is who waits. Every packet is a row of the records.

# %%
packets = polars.DataFrame(result.records).filter(polars.col("outcome") == "sent")
waits = (
    packets.with_columns(latency_ms=(polars.col("link_end_ns") - polars.col("arrival_ns")) / 1e6)
    .group_by("policy", "flow")
    .agg(p99_ms=polars.col("latency_ms").quantile(0.99).round(2), sent=polars.len())
    .sort("policy", "p99_ms")
)
waits

# %%
altair.Chart(waits, title="The latency that one packet in a hundred exceeds").mark_bar().encode(
    x=altair.X("p99_ms", type="quantitative", title="ms").scale(type="symlog"),
    y=altair.Y("policy", type="nominal", title=None),
    yOffset="flow:N",
    color=altair.Color("flow", type="nominal", title=None),
).properties(width=480)

# %% [markdown]
# Deadlines do what they are for: calls and web traffic stay within theirs, as the following check says. They also do what fair
# queueing would never do: if calls sent ten times as much, they would take it from every other flow.

# %%
p99 = {flow: p99_ms for policy, flow, p99_ms, _ in waits.iter_rows() if policy == EarliestDeadline.name}
for flow, allowed_ms in (("calls", 1), ("web", 20)):
    print(f"{flow}: allowed {allowed_ms} ms, p99 {p99[flow]} ms")
    assert p99[flow] <= allowed_ms

# %% [markdown]
# ## What it costs
#
# The same policy twice: first in, first out, built in and as a class.


# %% tags=["varies"]
class FirstInFirstOut:
    name = "fifo in Python"

    def __init__(self):
        self.order = []
        self.number = 0

    def enqueued(self, flow, bytes, demand_ns, now_ns):
        self.number += 1
        heapq.heappush(self.order, (self.number, flow))

    def dequeue(self, now_ns):
        return heapq.heappop(self.order)[1]

    def evicted(self, flow, end):
        chosen = (min if end == "head" else max)(entry for entry in self.order if entry[1] == flow)
        self.order.remove(chosen)
        heapq.heapify(self.order)


seconds = {}
for policy in ("fifo", FirstInFirstOut()):
    begun = time.perf_counter()
    ran = dovetail.simulate(BOX, policy, overrides={"duration": "3s", "queue_packets": 5})
    seconds[ran.summary["policy"][0]] = time.perf_counter() - begun
    print(ran.summary["policy"][0], "sent", int(ran.summary["sent"][0]), "packets")
slower = seconds["fifo in Python"] / seconds["fifo"]
print(f"the class takes {slower:.0f} times as long as the built-in policy")

# %% [markdown]
# Both send the same packets. For a first look that price is nothing; for a sweep of thousands of points, write the policy in Rust:
# [one file and one line](../architecture.md#adding-a-policy), and it is in every tool.
