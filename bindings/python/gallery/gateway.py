# %% [markdown]
# # Gallery: users behind a gateway
#
# Twelve users share a downlink of 2 Mbit/s whose queue is at the provider's end, out of reach. A gateway at their own end decides
# when a request leaves and how far its response is read. What is that worth to users of three classes, with weights 4, 2 and 1?

# %%
import altair
import dovetail
import polars

GATEWAYS = ["none", "msf-rs", "grants"]
rows = []
for load in (0.5, 0.7, 0.9, 1.1):
    result = dovetail.simulate("access", GATEWAYS, load=load)
    for row in result.document["policies"]:
        for users in row["access"]["classes"]:
            kept = {name: users[name] for name in ("class", "median_s", "mean_s", "kbps", "unfinished")}
            rows.append({"gateway": row["policy"], "load": load, **kept})
rows = polars.DataFrame(rows)
rows.pivot("class", index=["load", "gateway"], values="median_s").with_columns(
    polars.col("gold", "silver", "bronze").round(3)
)

# %% [markdown]
# The table has the median time in seconds from the moment a user wants a response until its last byte is there. At low load there is
# little to decide; the more the link is asked for, the more it matters who goes first.

# %%
altair.Chart(rows, title="The median latency of a response").mark_line(point=True).encode(
    x=altair.X("load:Q").scale(zero=False),
    y=altair.Y("median_s:Q", title="s").scale(type="log"),
    color=altair.Color("gateway:N", title=None, sort=GATEWAYS),
    column=altair.Column("class:N", title=None, sort=["gold", "silver", "bronze"]),
).properties(width=160, height=220)

# %% [markdown]
# ## The same decisions in your own program
#
# The schedulers are the ones of `dovetail.RequestScheduler`, for a gateway of your own. Here two users ask at the same time, over a
# link of 100,000 bytes a second, and whatever the scheduler permits arrives at that rate.

# %%
gateway = dovetail.RequestScheduler("grants", rate=100_000)
for user, weight in enumerate((4.0, 1.0)):
    gateway.set_class(user, weight, now_ns=0)
    gateway.set_user(user, class_=user, now_ns=0)
    gateway.enqueue(user, user=user, now_ns=0, length=200_000)

left, permitted, now = {0: 200_000, 1: 200_000}, {0: 0, 1: 0}, 0
while left:
    while (turn := gateway.dequeue(now)) is not None:
        permitted[turn.request] += left[turn.request] if turn.units is None else turn.units
    flowing = [request for request in left if permitted[request] > 0]
    if not flowing:
        now = gateway.poll_at()
    for request in flowing:
        units = min(left[request], permitted[request], 1448)
        now += units * 10_000
        gateway.received(request, units, now)
        left[request] -= units
        permitted[request] -= units
        if left[request] == 0:
            gateway.ended(request, now)
            del left[request]
            print(f"the user with weight {(4, 1)[request]} has their response after {now / 1e9:.2f} s")
        elif permitted[request] == 0:
            gateway.ready(request, now)

# %% [markdown]
# [Users behind a gateway](../access.md) has the model and its limits.
