"""What docs/python.md shows, for mypy."""

import dovetail

result = dovetail.simulate("middlebox", ["fifo", "drfq", "atfq:batch=20"], overrides={"link.rate": "200Mbps"})
p99: list[float | None] = result.summary["latency_us.p99"]

limits: dovetail.Limits = {"flow_packets": 100, "drop": "head"}
scheduler = dovetail.Scheduler("drfq", resources=2, limits=limits)
if scheduler.enqueue(0, 1500, (12_000, 30_000), 0, handle="anything"):
    packet = scheduler.dequeue(0)
    if packet is not None:
        times: tuple[int, ...] = packet.demand_ns


def sweep() -> list[str]:
    """Not called: what a sweep gives has types, whichever way it is named."""
    results = dovetail.sweep("grid.toml", out="results")
    same = [dovetail.load("results"), dovetail.sweep.load("results")]
    try:
        return [str(one.folder) for one in [results, *same]]
    except dovetail.sweep.StoreError:
        return []
