# %% [markdown]
# # Gallery: which policy for my capture
#
# You have a capture of your traffic and know what your box does to a packet. Which policy should it run?
#
# Put the path of your capture here. So that this page runs anywhere, it makes one: what a simulated office link of 20 Mbit/s sends
# in ten seconds, web transfers beside a backup and a call.

# %%
from pathlib import Path

import altair
import dovetail
import polars

OFFICE = {
    "name": "office",
    "seed": 1,
    "network": {"stop": "10s"},
    "link": [
        {"between": ["router", "internet"], "rate": "20Mbps", "delay": "10ms", "buffer_packets": 100, "watched": True},
        {"between": [["pc", "server", "phone"], "router"], "rate": "100Mbps"},
    ],
    "traffic": [
        {
            "name": "web",
            "from": "pc",
            "to": "internet",
            "transfers": {"count": 300, "size": {"lognormal": {"mu": 9.5, "sigma": 1.4, "min": 200, "max": "5MB"}}, "load": 0.6},
        },
        {"name": "backup", "from": "server", "to": "internet", "long_lived": 1},
        {"name": "call", "from": "phone", "to": "internet", "udp": {"bytes": 200, "rate": "50/s"}},
    ],
}
dovetail.compare(OFFICE, "drr", pcap="captures")
(capture,) = Path("captures").iterdir()

# %% [markdown]
# A capture does not say what a box does to a packet. This one encrypts a third of the flows and forwards the rest, before a link
# whose rate is given; [scenario files](../scenarios.md) assign flows by ports and addresses, too. `load` makes the traffic faster
# until it offers the bottleneck a fifth more than it can carry.

# %%
BOX = {
    "name": "box",
    "pipeline": "buffer=8",
    "queue_packets": 100,
    "resource": [{"name": "cpu"}, {"name": "link", "rate": "40Mbps"}],
    "class": [
        {"name": "encrypted", "cost": {"cpu": "700ns*bytes + 100us"}, "share": 1},
        {"name": "forwarded", "cost": {"cpu": "3ns*bytes + 60us"}, "share": 2},
    ],
}
POLICIES = ["fifo", "drr", "drfq", "mr3", "atfq:batch=5", "atfq:batch=20"]
comparison = dovetail.compare(BOX, POLICIES, trace=capture, load=1.2)
table = polars.DataFrame(comparison.table)
table.select(
    "policy",
    polars.col("utilisation.cpu", "utilisation.link", "throughput_mbps").round(3),
    (polars.col("latency_us.p50", "latency_us.p99") / 1e3).round(1).name.replace("_us", "_ms"),
    polars.col("dropped").cast(int),
)

# %% [markdown]
# The command's verdict says who was best at what. "Best" has no meaning beyond that: a policy trades throughput for strictness of
# sharing, and the choice is yours.

# %%
print("\n".join(comparison.verdict))

# %%
altair.Chart(
    table.select("policy", throughput="throughput_mbps", p50=polars.col("latency_us.p50") / 1e3),
    title="What is carried, and how long half of the packets take",
).mark_point(filled=True, size=90).encode(
    x=altair.X("throughput:Q", title="Mbit/s").scale(zero=False),
    y=altair.Y("p50:Q", title="median latency, ms").scale(type="log"),
    color=altair.Color("policy:N", title=None),
).properties(width=440, height=260)

# %% [markdown]
# ## Who waits for whom
#
# `explain` says which kind of traffic made which wait, and what another policy would have done.

# %%
why = dovetail.explain(BOX, "fifo", against="drfq", trace=capture, load=1.2)
share = lambda column: (polars.col(column) / polars.col("latency_ns") * 100).round(1)
polars.DataFrame(why.table).select(
    polars.col("name").alias("packets of"),
    share("behind_ns.encrypted").alias("behind encrypted, %"),
    share("behind_ns.forwarded").alias("behind forwarded, %"),
    share("same_flow_ns").alias("behind their own flow, %"),
)

# %% [markdown]
# A row has the parts of its packets' latency under `fifo` that they spent behind packets of other flows of each kind, and behind
# their own flow's.
