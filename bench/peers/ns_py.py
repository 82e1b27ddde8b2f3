"""ns.py (SimPy): sources, one scheduler with its link, one sink that keeps no records; processor time of the run."""

import random
import time
from functools import partial

import simpy
from ns.packet.dist_generator import DistPacketGenerator
from ns.packet.sink import PacketSink
from ns.scheduler.drr import DRRServer
from ns.scheduler.wfq import WFQServer

import shape

args = shape.arguments()
chance = random.Random(args.seed)
env = simpy.Environment()
server = {"DRR": DRRServer, "WFQ": WFQServer}[args.discipline](env, shape.LINK_BPS, [1] * args.flows)
sink = PacketSink(env, rec_arrivals=False, rec_waits=False)
server.out = sink
gap = partial(chance.expovariate, args.rate_per_flow)
size = partial(chance.randint, shape.MIN_BYTES, shape.MAX_BYTES)
for flow in range(args.flows):
    DistPacketGenerator(env, "source", gap, size, finish=args.duration, flow_id=flow).out = server

start = time.process_time()
env.run()
seconds = time.process_time() - start
shape.report(sum(sink.packets_received.values()), seconds, args)
