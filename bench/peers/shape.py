"""The workload that every peer gets, and how one says what it did.

Equal Poisson flows over one link, sizes uniform over 100 to 1500 bytes, the link busy for 0.95 of the time: as in
bench/src/traffic.rs, except that the link is slow. Only the ratio of gaps to sizes matters to the work per packet, and
daytone panics when a gap rounds to none of its nanoseconds, which at this rate is rare.
"""

import argparse
import json

MIN_BYTES, MAX_BYTES = 100, 1500
MEAN_BYTES = (MIN_BYTES + MAX_BYTES) / 2
LINK_BPS = 1e6
LOAD = 0.95
PACKETS_PER_SECOND = LOAD * LINK_BPS / (8 * MEAN_BYTES)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--discipline", choices=["DRR", "WFQ"], required=True)
    parser.add_argument("--flows", type=int, required=True)
    parser.add_argument("--packets", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    args.duration = args.packets / PACKETS_PER_SECOND
    args.rate_per_flow = PACKETS_PER_SECOND / args.flows
    return args


def plausible(delivered, args):
    """Whether so many packets may have been delivered: Poisson, and at the ends up to one more or less a flow."""
    return abs(delivered - args.packets) <= 6 * args.packets**0.5 + args.flows


def report(delivered, seconds, args):
    if not plausible(delivered, args):
        raise SystemExit(f"delivered {delivered} packets where about {args.packets} were sent")
    print(json.dumps({"packets": delivered, "seconds": seconds}))
