/*
 * Random calls, right and wrong ones, of all policies: random_calls CALLS SEED.
 *
 * The library may refuse a call, but must not fail internally or leak memory: run this under the sanitizers and valgrind.
 * The last line says how many calls there were, how many of them were refused, and by how much the program's memory grew over
 * the second half.
 */
#include "dovetail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOWS = 40, IN_PIPELINE = 64, CALLS_A_HANDLE = 20000, IDS = 64 };

static uint64_t state;
static unsigned long made, refused;

/* SplitMix64. */
static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t bound) { return (uint32_t)(next() % bound); }

/* Occasionally any number. */
static uint32_t mostly_below(uint32_t bound) { return below(200) == 0 ? (uint32_t)next() : below(bound); }

static dvt_status call(dvt_status status) {
    made++;
    if (status < 0) {
        refused++;
        if (status == DVT_ERROR_INTERNAL || status == DVT_ERROR_POISONED || dvt_last_error()[0] == 0) {
            fprintf(stderr, "after %lu calls: %d: %s\n", made, (int)status, dvt_last_error());
            exit(1);
        }
    }
    return status;
}

static void play_packets(const char *policy, unsigned long calls) {
    uint32_t resources = 1 + below(4);
    dvt_setup setup = {.size = sizeof setup, .resources = resources, .flags = below(2), .on_full = below(3), .flows = FLOWS};
    dvt_program programs[2] = {{.size = sizeof *programs, .name = "one", .cost = "2ns*bytes + 1us", .expansion = 1},
                               {.size = sizeof *programs, .name = "two", .processing = DVT_HEADER, .expansion = 1.5}};
    dvt_flows_setup flows_setup = {.size = sizeof flows_setup, .most = FLOWS, .timeout_ns = 1000000};
    dvt_dispatch pipeline[IN_PIPELINE];
    dvt_scheduler *scheduler = NULL;
    dvt_flows *flows = NULL;
    uint64_t now = 0, handle = 0;
    unsigned in_pipeline = 0;
    setup.packets = below(2) ? 100 : 0;
    setup.flow_bytes = below(2) ? 9000 : 0;
    setup.programs = programs;
    setup.program_count = 2;
    if (call(dvt_scheduler_new(policy, &setup, &scheduler)) != DVT_OK) exit(2);
    if (call(dvt_flows_new(&flows_setup, &flows)) != DVT_OK) exit(2);
    for (unsigned long at = 0; at < calls; at++) {
        /* Only what the library may read is written, so that the tools notice if it reads anything else. */
        dvt_packet packet;
        dvt_admission admission = {.size = sizeof admission};
        dvt_dispatch dispatch;
        dvt_backlog backlog = {.size = sizeof backlog};
        dvt_figure figure = {.size = sizeof figure};
        dvt_learnt learnt = {.size = sizeof learnt};
        dvt_lookup lookup = {.size = sizeof lookup};
        dvt_five_tuple tuple = {.size = sizeof tuple, .protocol = 6};
        uint64_t number = 0;
        uint32_t bits = 0, resource = below(resources + 1);
        dispatch.size = sizeof dispatch;
        packet.size = below(500) == 0 ? (uint32_t)next() : (uint32_t)sizeof packet;
        packet.flow = mostly_below(FLOWS);
        packet.bytes = mostly_below(1600);
        packet.resources = below(100) == 0 ? (uint32_t)next() : resources;
        packet.arrival_ns = now;
        packet.handle = below(100) == 0 ? handle : ++handle;
        for (uint32_t j = 0; j < resources; j++) packet.demand_ns[j] = below(1000) == 0 ? next() : below(30000);
        if (packet.resources > resources && packet.resources <= DVT_MAX_RESOURCES) packet.resources = resources;
        now += below(8000);
        switch (below(24)) {
        case 0: case 1: case 2: case 3: case 4:
            call(dvt_enqueue(scheduler, &packet, now, &admission));
            while (admission.evicted && (packet.size = sizeof packet, dvt_poll_evicted(scheduler, &packet) == DVT_OK)) made++;
            break;
        case 5: case 6: case 7: case 8:
            if (call(dvt_dequeue(scheduler, now, &dispatch)) == DVT_OK) pipeline[in_pipeline++ % IN_PIPELINE] = dispatch;
            break;
        case 9:
            packet.size = sizeof packet;
            call(dvt_peek(scheduler, now, &packet));
            break;
        case 10: case 11: case 12: case 13:
            if (in_pipeline > 0) { /* of a packet that was released, in whatever order */
                unsigned most = in_pipeline < IN_PIPELINE ? in_pipeline : IN_PIPELINE;
                const dvt_dispatch *of = &pipeline[below(most)];
                dvt_event event = {.size = sizeof event, .flow = of->flow, .resource = resource, .stage = below(5)};
                event.ticket = below(50) == 0 ? next() : of->ticket;
                event.took_ns = below(50000);
                call(dvt_feedback(scheduler, &event, now));
            }
            break;
        case 14: call(dvt_set_weight(scheduler, mostly_below(FLOWS), below(50) / 4.0)); break;
        case 15: {
            double weights[DVT_MAX_RESOURCES] = {1, 2, 3, 4, 5, 6, 7, 8};
            call(dvt_set_resource_weights(scheduler, below(FLOWS), weights, resource));
            break;
        }
        case 16:
            call(dvt_forget(scheduler, mostly_below(FLOWS)));
            if (below(4) == 0) call(dvt_discard(scheduler, mostly_below(FLOWS)));
            while (packet.size = sizeof packet, dvt_poll_evicted(scheduler, &packet) == DVT_OK) made++;
            break;
        case 17: call(dvt_set_program(scheduler, below(FLOWS), below(4))); break;
        case 18:
            call(dvt_poll_at(scheduler, &number));
            call(dvt_interest(scheduler, &bits));
            call(dvt_backlog_of(scheduler, &backlog));
            call(dvt_flow_backlog(scheduler, mostly_below(FLOWS), &backlog));
            break;
        case 19:
            call(dvt_figure_at(scheduler, below(5), &figure));
            call(dvt_learnt_at(scheduler, below(5), &learnt));
            break;
        case 20:
            tuple.source_port = (uint16_t)below(2 * FLOWS);
            call(dvt_flows_lookup(flows, scheduler, &tuple, now, &lookup));
            call(dvt_flows_tuple(flows, lookup.flow, &tuple));
            break;
        case 21: call(dvt_flows_expire(flows, below(2) ? scheduler : NULL, now, below(4), &bits)); break;
        case 22:
            packet.size = sizeof packet;
            call(dvt_enqueue_before(scheduler, resource, &packet, now, &admission));
            call(dvt_dequeue_before(scheduler, resource, now, &packet));
            call(dvt_poll_at_before(scheduler, resource, &number));
            call(dvt_backlog_before(scheduler, resource, &backlog));
            break;
        default: call(dvt_retune(scheduler, below(20) == 0 ? "fifo" : policy, now)); break;
        }
    }
    if (call(dvt_scheduler_free(scheduler)) != DVT_OK || call(dvt_flows_free(flows)) != DVT_OK) exit(2);
    if (call(dvt_scheduler_free(scheduler)) != DVT_ERROR_FREED) exit(2);
}

static void play_requests(const char *policy, unsigned long calls) {
    dvt_request_setup setup = {.size = sizeof setup};
    dvt_requests *requests = NULL;
    dvt_far *far = NULL;
    dvt_offer *offer = NULL;
    uint64_t now = 0;
    if (call(dvt_request_setup_for_bytes(100000, &setup)) != DVT_OK) exit(2);
    setup.ids = IDS;
    setup.flags = below(2);
    if (call(dvt_requests_new(policy, &setup, &requests)) != DVT_OK || call(dvt_far_new(&far)) != DVT_OK) exit(2);
    if (call(dvt_offer_new(setup.window, setup.longest_window, setup.window, &offer)) != DVT_OK) exit(2);
    for (unsigned long at = 0; at < calls; at++) {
        dvt_request request = {.size = sizeof request, .id = mostly_below(IDS), .user = mostly_below(20)};
        dvt_turn turn = {.size = sizeof turn};
        dvt_figure figure = {.size = sizeof figure};
        uint32_t id = mostly_below(IDS), class = mostly_below(5), user = mostly_below(20);
        uint64_t units = below(100) == 0 ? next() : below(50000), delay = DVT_UNKNOWN, room = DVT_UNKNOWN;
        request.length = below(2) ? units : DVT_UNKNOWN;
        now += below(50000000);
        switch (below(22)) {
        case 0: call(dvt_requests_set_class(requests, class, below(50) / 4.0, now)); break;
        case 1: call(dvt_requests_set_user(requests, user, class, now)); break;
        case 2: call(dvt_requests_forget_user(requests, user)); break;
        case 3:
            if (below(2)) call(dvt_requests_set_rate(requests, below(1000000), now));
            else call(dvt_requests_set_cap(requests, class, below(4) ? below(100000) : 0, now));
            break;
        case 4: case 5: case 6: call(dvt_requests_enqueue(requests, &request, now)); break;
        case 7: call(dvt_requests_length(requests, id, units, now)); break;
        case 8: call(dvt_requests_received(requests, id, units, now)); break;
        case 9: call(dvt_requests_unread(requests, id, units, now)); break;
        case 10:
            if (call(dvt_offer_wider(offer, units, &room)) == DVT_OK) call(dvt_offer_offers(offer, room));
            if (call(dvt_offer_bytes(offer, &room)) == DVT_OK) call(dvt_requests_offers(requests, id, room, now));
            call(dvt_offer_establish(offer, below(2) ? units * 20000 : DVT_UNKNOWN, &room));
            if (below(2)) call(dvt_offer_draws_near(offer, units * 20000));
            if (call(dvt_offer_farthest(offer, &room)) == DVT_OK) call(dvt_requests_round_trip(requests, id, room, now));
            else call(dvt_requests_round_trip(requests, id, units, now));
            call(dvt_requests_distance(requests, id, below(9) ? units * 20000 : UINT64_MAX, now));
            if (call(dvt_offer_is_grown(offer)) == DVT_OK && call(dvt_offer_free(offer)) == DVT_OK &&
                call(dvt_offer_new(setup.window, setup.longest_window, below(9) ? units : UINT64_MAX, &offer)) != DVT_OK)
                exit(2);
            break;
        case 11: case 12: call(dvt_requests_ready(requests, id, now)); break;
        case 13: case 14: call(dvt_requests_ended(requests, id, now)); break;
        case 15: call(dvt_requests_cancel(requests, id, now)); break;
        case 16: call(dvt_requests_uplink(requests, below(2), now)); break;
        case 17: call(dvt_requests_stray(requests, below(2) ? class : DVT_NO_CLASS, units, now)); break;
        case 18:
            call(dvt_far_probe(far, now, &delay));
            if (below(8) > 0) call(dvt_far_back(far, delay, now + below(1000000)));
            if (below(100) == 0) call(dvt_far_forget(far));
            delay = room = DVT_UNKNOWN;
            call(dvt_far_delay(far, now, &delay, &room));
            call(dvt_requests_far_queue(requests, delay, room, now));
            break;
        case 19: call(dvt_requests_figure_at(requests, below(9), &figure)); break;
        case 20: call(dvt_requests_first_window(requests, &units)); break;
        default: call(dvt_requests_retune(requests, policy, now)); break;
        }
        while (call(dvt_requests_dequeue(requests, now, &turn)) == DVT_OK) made++;
        call(dvt_requests_poll_at(requests, &delay));
    }
    if (call(dvt_requests_free(requests)) != DVT_OK || call(dvt_far_free(far)) != DVT_OK) exit(2);
    if (call(dvt_offer_free(offer)) != DVT_OK) exit(2);
}

/* The program's memory in kilobytes, or 0 if the system does not say. */
static long memory_kb(void) {
    char line[256];
    long kb = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kb);
    if (status) fclose(status);
    return kb;
}

int main(int count, char **arguments) {
    unsigned long calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 100000;
    unsigned long a_handle = calls / 60 < CALLS_A_HANDLE ? calls / 60 + 1 : CALLS_A_HANDLE;
    long half_kb = 0;
    state = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    while (made < calls) {
        dvt_policy policy = {.size = sizeof policy};
        char learning[2 * DVT_NAME_LENGTH];
        for (uint32_t at = 0; dvt_policy_at(DVT_PACKETS, at, &policy) == DVT_OK; at++) {
            play_packets(policy.name, a_handle);
            snprintf(learning, sizeof learning, "%s:estimator=%s", policy.name, below(2) ? "ses" : "llsr");
            play_packets(learning, a_handle);
        }
        for (uint32_t at = 0; dvt_policy_at(DVT_REQUESTS, at, &policy) == DVT_OK; at++) play_requests(policy.name, a_handle);
        if (half_kb == 0 && made >= calls / 2) half_kb = memory_kb();
    }
    printf("%lu calls, %lu of them refused; memory grew by %ld kB over the second half\n", made, refused,
           half_kb > 0 ? memory_kb() - half_kb : 0);
    return 0;
}
