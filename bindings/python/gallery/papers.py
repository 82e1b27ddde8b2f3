# %% [markdown]
# # Gallery: a figure of each paper
#
# `dovetail.reproduce` runs published experiments again. Nothing is stored: every measured value comes from the run that this page
# made. Here is one experiment of each paper, with the printed values beside ours.

# %%
import altair
import dovetail
import polars

PAPERS = {
    "atfq-fig9": "ATFQ: Zhang et al., IEEE TNSM 2015, figure 9",
    "tradeoff-fig1": "Trade-off: Wang et al., CoNEXT 2014, figure 1",
    "cbcs-fig10": "CBCS-WFQ: Sabrina and Jha, UNSW-CSE-TR-0306, 2003, figure 10",
    "msfrs-fig8": "MSF-RS: Tsao et al., Computer Networks 2008, figure 8",
    "drrsff-fig7": "DRR-SFF: Sun et al., ICNS 2007, figure 7",
}
done = {name: dovetail.reproduce(name) for name in PAPERS}
rows = polars.concat(
    [polars.DataFrame(one.table).select("experiment", "what", "unit", "expected", "measured", "holds") for one in done.values()]
)
for name, one in done.items():
    print(f"{PAPERS[name]}: {sum(one.table['holds'])} of {len(one.table)} rows hold")
    assert one.holds

# %%
rows.with_columns(polars.col("expected", "measured").round(3))

# %% [markdown]
# A row is judged by the value that is expected of an independent implementation, or that follows from the paper's text; a row with a
# bound holds on one side of it. [Reproducing the papers](../reproduce.md) says how, and has all experiments.

# %%
figure = polars.DataFrame(done["atfq-fig9"].table).select("what", "measured", paper="paper")
figure = figure.with_columns(
    resource=polars.col("what").str.split(" ").list.first(), policy=polars.col("what").str.split(", ").list.last()
)
bars = altair.Chart(figure).encode(
    x=altair.X("policy:N", title=None, sort=None)
)
measured = bars.mark_bar().encode(y=altair.Y("measured:Q", title="busy, %"), color=altair.Color("policy:N", legend=None))
printed = bars.mark_tick(thickness=2, color="black").encode(y="paper:Q")
altair.layer(measured, printed).properties(width=180, height=220).facet(
    column=altair.Column("resource:N", title=None), title="ATFQ, figure 9: bars are measured, ticks are the paper's"
)
