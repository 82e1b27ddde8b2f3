/*
 * A host behind a narrow link, on a TUN device: every IPv4 packet sent to 10.77.0.0/24 comes back with its addresses
 * exchanged, after it has crossed a link of RATE Mbit/s that POLICY shares among the flows.
 *
 *     tun [RATE [POLICY [PACKETS]]]        as in: tun 10 drr 1000; without PACKETS it runs until it is stopped
 *
 * It needs Linux and permission to create a device (root, or a network namespace of one's own). Without, it says so and exits.
 */
#define _GNU_SOURCE
#include "dovetail.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 1500, MAX_FLOWS = 1024 };

/* The contents of a packet, which the library knows only by address. */
struct body {
    size_t length;
    unsigned char bytes[MTU];
};

static void must(dvt_status status) {
    if (status < 0) {
        fprintf(stderr, "error: %s\n", dvt_last_error());
        exit(1);
    }
}

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Creates the device dvt0 with the address 10.77.0.1 and brings it up. Returns -1 if that is not permitted. */
static int open_tun(void) {
    struct ifreq device = {.ifr_name = "dvt0"};
    struct sockaddr_in address = {.sin_family = AF_INET};
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK), control = socket(AF_INET, SOCK_DGRAM, 0);
    if (tun < 0 || control < 0) return -1;
    device.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(tun, TUNSETIFF, &device) < 0) return -1;
    inet_pton(AF_INET, "10.77.0.1", &address.sin_addr);
    memcpy(&device.ifr_addr, &address, sizeof address);
    if (ioctl(control, SIOCSIFADDR, &device) < 0) return -1;
    inet_pton(AF_INET, "255.255.255.0", &address.sin_addr);
    memcpy(&device.ifr_netmask, &address, sizeof address);
    if (ioctl(control, SIOCSIFNETMASK, &device) < 0) return -1;
    device.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, &device) < 0) return -1;
    close(control);
    return tun;
}

/* Reads the 5-tuple of a packet. Returns 0 if it is not IPv4. */
static int read_tuple(const struct body *body, dvt_five_tuple *tuple) {
    const unsigned char *ip = body->bytes;
    size_t header = (size_t)(ip[0] & 15) * 4;
    if (body->length < 20 || ip[0] >> 4 != 4 || header < 20) return 0;
    *tuple = (dvt_five_tuple){.size = sizeof *tuple, .protocol = ip[9]};
    memset(tuple->source + 10, 0xff, 2);
    memset(tuple->destination + 10, 0xff, 2);
    memcpy(tuple->source + 12, ip + 12, 4);
    memcpy(tuple->destination + 12, ip + 16, 4);
    if ((ip[9] == 6 || ip[9] == 17) && body->length >= header + 4) {
        tuple->source_port = (uint16_t)(ip[header] << 8 | ip[header + 1]);
        tuple->destination_port = (uint16_t)(ip[header + 2] << 8 | ip[header + 3]);
    }
    return 1;
}

static void exchange_addresses(struct body *body) {
    unsigned char source[4];
    memcpy(source, body->bytes + 12, 4);
    memcpy(body->bytes + 12, body->bytes + 16, 4);
    memcpy(body->bytes + 16, source, 4);
}

int main(int count, char **arguments) {
    double rate_mbps = count > 1 ? atof(arguments[1]) : 10;
    const char *policy = count > 2 ? arguments[2] : "drr";
    unsigned long most = count > 3 ? strtoul(arguments[3], NULL, 10) : 0, came_back = 0, lost = 0;
    dvt_setup setup = {.size = sizeof setup, .resources = 1, .flows = MAX_FLOWS, .packets = 1000, .on_full = DVT_LONGEST};
    dvt_flows_setup flows_setup = {.size = sizeof flows_setup, .most = MAX_FLOWS, .timeout_ns = 60000000000u};
    dvt_scheduler *scheduler = NULL;
    dvt_flows *flows = NULL;
    uint32_t interest = 0;

    if (dvt_abi_version() != DVT_ABI_VERSION || rate_mbps <= 0) return 2;
    if (getrandom(flows_setup.hash_key, sizeof flows_setup.hash_key, 0) < 0) return 1;
    must(dvt_scheduler_new(policy, &setup, &scheduler));
    must(dvt_flows_new(&flows_setup, &flows));
    must(dvt_interest(scheduler, &interest));
    int tun = open_tun();
    if (tun < 0) {
        printf("skipped: a TUN device cannot be made here: %s\n", strerror(errno));
        return 0;
    }
    printf("10.77.0.0/24 is behind %g Mbit/s, shared by %s\n", rate_mbps, policy);
    fflush(stdout);

    dvt_dispatch sent = {.size = sizeof sent}; /* the packet on the link until free_at, if is_busy */
    int is_busy = 0;
    uint64_t free_at = 0;
    while (most == 0 || came_back + lost < most) {
        uint64_t now = clock_ns(), at = UINT64_MAX;
        dvt_event event = {.size = sizeof event, .flow = sent.flow, .ticket = sent.ticket};
        if (is_busy && now >= free_at) { /* feedback first, then arrivals, then the next packet */
            struct body *body = (struct body *)(uintptr_t)sent.handle;
            exchange_addresses(body);
            if (write(tun, body->bytes, body->length) < 0) perror("dvt0");
            free(body);
            is_busy = 0;
            came_back++;
            event.stage = DVT_FINISHED;
            event.took_ns = sent.demand_ns[0];
            if (dvt_wants(interest, DVT_FINISHED, 0)) must(dvt_feedback(scheduler, &event, now));
        }
        struct body *body = malloc(sizeof *body);
        ssize_t length = body ? read(tun, body->bytes, MTU) : -1;
        dvt_five_tuple tuple;
        dvt_lookup found = {.size = sizeof found};
        dvt_packet packet = {.size = sizeof packet, .resources = 1, .arrival_ns = now};
        if (length > 0 && (body->length = (size_t)length, read_tuple(body, &tuple))) {
            dvt_admission admission = {.size = sizeof admission, .refused = DVT_TOO_MANY_FLOWS};
            dvt_status known = dvt_flows_lookup(flows, scheduler, &tuple, now, &found);
            must(known);
            packet.flow = found.flow;
            packet.bytes = (uint32_t)length;
            packet.handle = (uintptr_t)body;
            packet.demand_ns[0] = (uint64_t)((double)length * 8000 / rate_mbps);
            if (known == DVT_OK) must(dvt_enqueue(scheduler, &packet, now, &admission));
            if (admission.evicted) {
                while (dvt_poll_evicted(scheduler, &packet) == DVT_OK) {
                    free((void *)(uintptr_t)packet.handle);
                    lost++;
                }
            }
            if (admission.refused == DVT_QUEUED) body = NULL; /* the queue owns it */
            else lost++;
        }
        free(body);
        if (!is_busy && dvt_dequeue(scheduler, now, &sent) == DVT_OK) {
            is_busy = 1;
            free_at = now + sent.demand_ns[0];
            dvt_event started = {.size = sizeof started, .flow = sent.flow, .ticket = sent.ticket, .stage = DVT_STARTED};
            if (dvt_wants(interest, DVT_STARTED, 0)) must(dvt_feedback(scheduler, &started, now));
        }
        if (length > 0) continue; /* there may be more */
        if (is_busy) at = free_at;
        else must(dvt_poll_at(scheduler, &at));
        struct timespec wait = {.tv_sec = (time_t)((at - now) / 1000000000u), .tv_nsec = (long)((at - now) % 1000000000u)};
        struct pollfd arrivals = {.fd = tun, .events = POLLIN};
        if (most == 0 || came_back + lost < most) ppoll(&arrivals, 1, at == UINT64_MAX ? NULL : &wait, NULL);
    }
    dvt_flow_counts counts = {.size = sizeof counts};
    must(dvt_flows_counts(flows, &counts));
    printf("%lu packets of %u flows came back, %lu were lost\n", came_back, (unsigned)counts.flows, lost);
    must(dvt_flows_free(flows));
    must(dvt_scheduler_free(scheduler));
    return 0;
}
