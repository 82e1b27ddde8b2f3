// The classes of dovetail.hpp: what they return, throw and free.
#include "dovetail.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

static void that(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}
#define THAT(condition) that(condition, #condition)

template <class Call> static dvt_status thrown(Call call) {
    try {
        call();
    } catch (const dovetail::Error &error) {
        THAT(std::string(error.what()).size() > 0);
        return error.status();
    }
    return DVT_OK;
}

int main() {
    dvt_setup setup = dovetail::setup(2);
    setup.packets = 2;
    setup.on_full = DVT_LONGEST;
    THAT(thrown([&] { dovetail::Scheduler wrong("drrr", setup); }) == DVT_ERROR_POLICY);

    dovetail::Scheduler made("drfq", setup);
    dovetail::Scheduler scheduler = std::move(made);
    THAT(thrown([&] { made.backlog(); }) == DVT_ERROR_POINTER);
    THAT(scheduler.wants(DVT_FINISHED, 1) && !scheduler.wants(DVT_STARTED, 1));
    std::uint64_t lost = 0;
    for (std::uint64_t handle = 0; handle < 3; handle++) {
        const std::uint32_t flow = handle == 2 ? 1 : 0;
        const dvt_admission admission = scheduler.enqueue(dovetail::packet(flow, 1000, 0, handle, {12000, 20000}), 0);
        THAT(admission.refused == DVT_QUEUED);
        scheduler.evicted([&](const dvt_packet &packet) { lost = packet.handle; });
    }
    THAT(lost == 1 && scheduler.backlog().packets == 2 && scheduler.backlog(1).bytes == 1000);
    THAT(thrown([&] { (void)scheduler.enqueue(dovetail::packet(0, 1, 0, 9, {}), 0); }) == DVT_ERROR_RANGE);
    THAT(thrown([&] { scheduler.set_weight(0, -1); }) == DVT_ERROR_RANGE);
    THAT(thrown([&] { scheduler.learnt(); }) == DVT_ERROR_UNSUPPORTED);
    THAT(!scheduler.forget(1));
    const std::uint64_t first = scheduler.peek(0).value().handle;
    const dvt_dispatch next = scheduler.dequeue(0).value();
    THAT(next.handle == first && next.resources == 2 && next.demand_ns[1] == 20000);
    scheduler.feedback(next, 0, DVT_STARTED, 0, 0);
    THAT(scheduler.discard(next.flow == 0 ? 1 : 0) && !scheduler.discard(next.flow));
    lost = 0;
    scheduler.evicted([&](const dvt_packet &packet) { lost += 1 + packet.flow; });
    THAT(lost == (next.flow == 0 ? 2u : 1u) && !scheduler.dequeue(0) && !scheduler.poll_at());
    THAT(scheduler.forget(1));
    scheduler.set_resource_weights(0, {1, 2});
    scheduler.retune("drfq:dovetail=10us", 0);

    dovetail::FlowTable flows(8, 1000, {1, 2, 3});
    dvt_five_tuple tuple = dovetail::sized<dvt_five_tuple>();
    tuple.source_port = 53;
    THAT(flows.lookup(scheduler, tuple, 0).value().is_new == 1 && flows.lookup(scheduler, tuple, 0).value().is_new == 0);
    THAT(flows.tuple(0).value().source_port == 53 && !flows.tuple(1));
    THAT(flows.expire(scheduler, 2000, 9) == 1 && flows.counts().flows == 0);

    dovetail::Scheduler split("wfq-split:estimator=known", dovetail::setup(2));
    THAT(split.enqueue_before(1, dovetail::packet(0, 100, 0, 5, {1, 2}), 0).refused == DVT_QUEUED);
    THAT(split.backlog_before(1).packets == 1 && split.dequeue_before(1, 0).value().handle == 5 && !split.poll_at_before(1));

    dovetail::Requests requests("msf-rs:window=1", dovetail::Requests::for_bytes(239000));
    requests.set_class(0, 1, 0);
    requests.set_user(0, 0, 0);
    requests.enqueue(0, 0, 0);
    requests.enqueue(1, 0, 0);
    THAT(requests.dequeue(0).value().releases == 1 && !requests.dequeue(0));
    requests.received(0, 5000, 40000000);
    requests.ended(0, 40000000);
    THAT(requests.dequeue(40000000).value().request == 1);
    requests.cancel(1, 40000000);
    THAT(dvt_requests_forget_user(requests.get(), 0) == DVT_OK);
    THAT(thrown([] { dovetail::Requests::for_bytes(-1); }) == DVT_ERROR_RANGE);

    dovetail::Far far;
    THAT(!far.delay(0));
    requests.far_queue(far.delay(0), 40000000);
    for (std::uint64_t sent = 50000000; sent < 60000000; sent += 1000000) far.back(far.probe(sent), sent + 500000);
    const auto seen = far.delay(61000000);
    THAT(seen && seen->delay_ns < 500000);
    requests.far_queue(seen, 61000000);
    far.forget();
    THAT(!far.delay(61000000));

    dovetail::Offer offer(8688, 350000, 8688);
    THAT(!offer.establish(40000000) && !offer.farthest() && !offer.wider(8000));
    offer.offers(offer.wider(30000).value());
    THAT(offer.bytes() == 30000 && offer.is_grown());
    dovetail::Offer far_away(8688, 350000, 8688);
    THAT(far_away.establish(600000000) == 14480 && far_away.farthest() == 600000000 && !far_away.is_grown());
    far_away.draws_near(40000000);
    THAT(!far_away.farthest());
    dovetail::Offer free(8688, 350000, UINT64_MAX);
    THAT(!free.establish(std::nullopt) && free.bytes() == UINT64_MAX && !free.is_grown());
    return 0;
}
