# %% [markdown]
# # Gallery: short flows over TCP
#
# Most transfers of the Internet are short, and most bytes are in the few long ones. What does a queueing policy at a narrow link do
# to either kind? Hosts run TCP, so a policy also decides how senders behave: when it delays or drops a packet, its sender slows down.
#
# The network is that of the DRR-SFF paper: transfers whose sizes have a heavy tail cross 3 Mbit/s and 30 ms at a load of 0.8.

# %%
import altair
import dovetail
import polars

POLICIES = ["fifo", "drr", "las", "run2c", "drr-sff"]
runs = []
for seed in range(1, 6):
    result = dovetail.simulate("drr-sff", POLICIES, seed=seed, overrides={"traffic.web.transfers.count": 2000})
    for row in result.document["policies"]:
        for length, figures in row["transfers"].items():
            runs.append({"policy": row["policy"], "seed": seed, "length": length, **{k: figures[k] for k in ("done", "mean_s")}})
runs = polars.DataFrame(runs)
means = (
    runs.group_by("policy", "length", maintain_order=True)
    .agg(transfers=polars.col("done").sum(), mean_s=polars.col("mean_s").median().round(3))
    .pivot("length", index="policy", values="mean_s")
)
means

# %% [markdown]
# The table has the mean time of a transfer in seconds, the median of five seeds. Short transfers gain from every policy that is not
# first in, first out. What long ones pay for it is the other column.

# %%
short = dict(zip(means["policy"], means["short"]))
for policy in POLICIES[1:]:
    print(f"{policy}: a short transfer takes {short[policy] / short['fifo']:.0%} of its time under fifo")
    assert short[policy] < short["fifo"]

# %%
altair.Chart(runs, title="The mean time of a transfer, a point for each seed").mark_point(filled=True, size=60).encode(
    x=altair.X("mean_s:Q", title="s").scale(type="log"),
    y=altair.Y("policy:N", title=None, sort=POLICIES),
    color=altair.Color("length:N", title=None, sort=["short", "middle", "long"]),
).properties(width=480, height=180)

# %% [markdown]
# [Networks](../networks.md) describes such files, and [the transport](../transport.md) the hosts' TCP.
