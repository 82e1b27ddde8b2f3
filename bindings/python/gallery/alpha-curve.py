# %% [markdown]
# # Gallery: the alpha curve with a hundred seeds
#
# The policy `tradeoff` gives up some fairness for throughput: at `alpha=1` it is fair, and below it, every flow is guaranteed that part
# of its fair share only. [Which alpha?](../tune.md) shows the curve for one run of one traffic. How much of it is chance? A sweep
# over a hundred seeds says so.

# %%
import altair
import dovetail
import polars

grid = {
    "scenario": "middlebox",
    "policy": [{"name": "tradeoff", "alpha": {"from": 0.6, "to": 1, "step": 0.05}}],
    "seed": "1..100",
    "set": {"duration": "100ms"},
}

# %% [markdown]
# A sweep runs on any `concurrent.futures.Executor`; without one, on [Dask](../clusters.md). Its results are files, so that it can
# be stopped and continued.

# %%
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as executor:
    dovetail.sweep(grid, out="results", client=executor)
results = polars.DataFrame(dovetail.load("results").table)
print(len(results), "points")

# %%
curve = (
    results.group_by(alpha="policy.alpha")
    .agg(
        throughput=polars.col("throughput_mbps").median(),
        low=polars.col("throughput_mbps").quantile(0.05),
        high=polars.col("throughput_mbps").quantile(0.95),
        gap_ms=polars.col("fairness.max_active_time_gap_us").median() / 1e3,
    )
    .sort("alpha")
)
curve.with_columns(polars.col("throughput", "low", "high").round(1), polars.col("gap_ms").round(1))

# %%
base = altair.Chart(curve, title="Throughput by alpha: the median of a hundred seeds, and nine of ten").encode(
    x=altair.X("alpha:Q").scale(zero=False)
)
band = base.mark_area(opacity=0.25).encode(y=altair.Y("low:Q", title="Mbit/s").scale(zero=False), y2="high:Q")
(band + base.mark_line(point=True).encode(y="throughput:Q")).properties(width=480, height=260)

# %% [markdown]
# A band is the spread over seeds, which are different traffic. Whether alpha *helps* is another question, and it has a better answer than
# two bands side by side: every policy saw the same hundred samples, so each seed is compared with itself.

# %%
fair = results.filter(polars.col("policy.alpha") == 1).select("seed", fair="throughput_mbps")
gain = (
    results.join(fair, on="seed")
    .with_columns(gain=(polars.col("throughput_mbps") / polars.col("fair") - 1) * 100)
    .group_by(alpha="policy.alpha")
    .agg(
        gain=polars.col("gain").median(),
        low=polars.col("gain").quantile(0.05),
        high=polars.col("gain").quantile(0.95),
        least=polars.col("gain").min(),
    )
    .sort("alpha")
)
assert gain.filter(polars.col("alpha") < 1)["least"].min() > 0
gain.with_columns(polars.col("gain", "low", "high", "least").round(2))

# %% [markdown]
# In none of the hundred did a lower alpha carry less than alpha=1.

# %%
base = altair.Chart(gain, title="What alpha gains over the fair run of the same seed").encode(
    x=altair.X("alpha:Q").scale(zero=False)
)
band = base.mark_area(opacity=0.25).encode(y=altair.Y("low:Q", title="%"), y2="high:Q")
(band + base.mark_line(point=True).encode(y="gain:Q")).properties(width=480, height=260)
