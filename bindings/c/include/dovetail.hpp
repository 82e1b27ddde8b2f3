/*
 * Dovetail for C++17: classes around dovetail.h that free their handles, throw errors and return optionals for DVT_NONE.
 *
 *     dovetail::Scheduler scheduler("drr", dovetail::setup(2));
 *     dvt_admission admission = scheduler.enqueue(dovetail::packet(flow, bytes, now, handle, {cpu, link}), now);
 *     if (admission.refused != DVT_QUEUED) { ... }
 *     scheduler.evicted([](const dvt_packet &lost) { ... });
 *     if (std::optional<dvt_dispatch> next = scheduler.dequeue(now)) { ... }
 *
 * The structs and the rules are those of dovetail.h. Objects can be moved but not copied; one that was moved from can only be
 * assigned to or destroyed.
 */
#ifndef DOVETAIL_HPP
#define DOVETAIL_HPP

#include "dovetail.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dovetail {

/// An error status, with the library's message.
class Error : public std::runtime_error {
  public:
    explicit Error(dvt_status status) : std::runtime_error(dvt_last_error()), status_(status) {}
    dvt_status status() const noexcept { return status_; }

  private:
    dvt_status status_;
};

/// Returns true for DVT_OK and false for DVT_NONE, and throws errors.
inline bool check(dvt_status status) {
    if (status < 0) throw Error(status);
    return status == DVT_OK;
}

/// A struct of zeros, with its size set.
template <class Struct> Struct sized() {
    Struct made = Struct();
    made.size = sizeof made;
    return made;
}

/// The struct that a call writes if it returns DVT_OK.
template <class Struct, class Call> std::optional<Struct> written(Call call) {
    Struct place = sized<Struct>();
    return check(call(&place)) ? std::optional<Struct>(place) : std::nullopt;
}

/// The number that a call writes if it returns DVT_OK.
template <class Number, class Call> std::optional<Number> number(Call call) {
    Number place = 0;
    return check(call(&place)) ? std::optional<Number>(place) : std::nullopt;
}

/// A setup without limits.
inline dvt_setup setup(std::uint32_t resources) {
    dvt_setup made = sized<dvt_setup>();
    made.resources = resources;
    return made;
}

/// A packet with its demand: one time for each resource.
inline dvt_packet packet(std::uint32_t flow, std::uint32_t bytes, std::uint64_t arrival_ns, std::uint64_t handle,
                         std::initializer_list<std::uint64_t> demand_ns) {
    if (demand_ns.size() > DVT_MAX_RESOURCES) throw std::length_error("a packet crosses at most 8 resources");
    dvt_packet made = sized<dvt_packet>();
    made.flow = flow;
    made.bytes = bytes;
    made.arrival_ns = arrival_ns;
    made.handle = handle;
    for (std::uint64_t time_ns : demand_ns) made.demand_ns[made.resources++] = time_ns;
    return made;
}

/// One of a policy's own figures.
struct Figure {
    std::string name;
    double value;
};

/// A packet scheduler.
class Scheduler {
  public:
    explicit Scheduler(const std::string &policy, const dvt_setup &setup) {
        dvt_scheduler *made = nullptr;
        check(dvt_scheduler_new(policy.c_str(), &setup, &made));
        handle_.reset(made);
    }

    /// A refused packet is still the caller's. See also evicted().
    [[nodiscard]] dvt_admission enqueue(const dvt_packet &packet, std::uint64_t now_ns) {
        dvt_admission admission = sized<dvt_admission>();
        check(dvt_enqueue(get(), &packet, now_ns, &admission));
        return admission;
    }
    /// Calls `lose` with each evicted or discarded packet. For use after an admission with `evicted` set, and after discard().
    template <class Lose> void evicted(Lose lose) {
        dvt_packet lost = sized<dvt_packet>();
        while (check(dvt_poll_evicted(get(), &lost))) lose(static_cast<const dvt_packet &>(lost));
    }
    /// Discards the flow's queued packets, which evicted() then gives. Returns false if there were none.
    bool discard(std::uint32_t flow) { return check(dvt_discard(get(), flow)); }
    std::optional<dvt_dispatch> dequeue(std::uint64_t now_ns) {
        return written<dvt_dispatch>([&](dvt_dispatch *to) { return dvt_dequeue(get(), now_ns, to); });
    }
    std::optional<dvt_packet> peek(std::uint64_t now_ns) {
        return written<dvt_packet>([&](dvt_packet *to) { return dvt_peek(get(), now_ns, to); });
    }
    std::optional<std::uint64_t> poll_at() const {
        return number<std::uint64_t>([&](std::uint64_t *to) { return dvt_poll_at(get(), to); });
    }

    /// Whether events of this stage on this resource must be reported with feedback().
    bool wants(dvt_stage stage, std::uint32_t resource) const {
        std::uint32_t interest = 0;
        check(dvt_interest(get(), &interest));
        return dvt_wants(interest, stage, resource) != 0;
    }
    /// `took_ns` is 0 except for DVT_FINISHED and DVT_ABORTED.
    void feedback(const dvt_dispatch &of, std::uint32_t resource, dvt_stage stage, std::uint64_t took_ns,
                  std::uint64_t now_ns) {
        dvt_event event = sized<dvt_event>();
        event.flow = of.flow;
        event.resource = resource;
        event.stage = stage;
        event.ticket = of.ticket;
        event.took_ns = took_ns;
        check(dvt_feedback(get(), &event, now_ns));
    }

    void set_weight(std::uint32_t flow, double weight) { check(dvt_set_weight(get(), flow, weight)); }
    void set_resource_weights(std::uint32_t flow, const std::vector<double> &weights) {
        check(dvt_set_resource_weights(get(), flow, weights.data(), static_cast<std::uint32_t>(weights.size())));
    }
    void retune(const std::string &policy, std::uint64_t now_ns) { check(dvt_retune(get(), policy.c_str(), now_ns)); }
    /// Returns false while the flow has packets queued.
    bool forget(std::uint32_t flow) { return check(dvt_forget(get(), flow)); }

    dvt_backlog backlog() const {
        return *written<dvt_backlog>([&](dvt_backlog *to) { return dvt_backlog_of(get(), to); });
    }
    dvt_backlog backlog(std::uint32_t flow) const {
        return *written<dvt_backlog>([&](dvt_backlog *to) { return dvt_flow_backlog(get(), flow, to); });
    }
    std::vector<Figure> figures() const {
        std::vector<Figure> all;
        dvt_figure figure = sized<dvt_figure>();
        for (std::uint32_t at = 0; check(dvt_figure_at(get(), at, &figure)); at++)
            all.push_back({figure.name, figure.value});
        return all;
    }

    void set_program(std::uint32_t flow, std::uint32_t program) { check(dvt_set_program(get(), flow, program)); }
    std::vector<dvt_learnt> learnt() const {
        std::vector<dvt_learnt> all;
        dvt_learnt learnt = sized<dvt_learnt>();
        for (std::uint32_t at = 0; check(dvt_learnt_at(get(), at, &learnt)); at++) all.push_back(learnt);
        return all;
    }

    [[nodiscard]] dvt_admission enqueue_before(std::uint32_t resource, const dvt_packet &packet, std::uint64_t now_ns) {
        dvt_admission admission = sized<dvt_admission>();
        check(dvt_enqueue_before(get(), resource, &packet, now_ns, &admission));
        return admission;
    }
    std::optional<dvt_packet> dequeue_before(std::uint32_t resource, std::uint64_t now_ns) {
        return written<dvt_packet>([&](dvt_packet *to) { return dvt_dequeue_before(get(), resource, now_ns, to); });
    }
    std::optional<std::uint64_t> poll_at_before(std::uint32_t resource) const {
        return number<std::uint64_t>([&](std::uint64_t *to) { return dvt_poll_at_before(get(), resource, to); });
    }
    dvt_backlog backlog_before(std::uint32_t resource) const {
        return *written<dvt_backlog>([&](dvt_backlog *to) { return dvt_backlog_before(get(), resource, to); });
    }

    /// The handle, for the functions of dovetail.h. This object keeps owning it.
    dvt_scheduler *get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(dvt_scheduler *handle) const noexcept { dvt_scheduler_free(handle); }
    };
    std::unique_ptr<dvt_scheduler, Free> handle_;
};

/// A flow table.
class FlowTable {
  public:
    FlowTable(std::uint32_t most, std::uint64_t timeout_ns, const std::array<std::uint8_t, 16> &hash_key) {
        dvt_flows_setup setup = sized<dvt_flows_setup>();
        setup.most = most;
        setup.timeout_ns = timeout_ns;
        for (std::size_t at = 0; at < hash_key.size(); at++) setup.hash_key[at] = hash_key[at];
        dvt_flows *made = nullptr;
        check(dvt_flows_new(&setup, &made));
        handle_.reset(made);
    }

    /// May make the scheduler forget flows that have been silent. Empty if the table is full and no flow could be retired.
    std::optional<dvt_lookup> lookup(Scheduler &scheduler, const dvt_five_tuple &tuple, std::uint64_t now_ns) {
        return written<dvt_lookup>(
            [&](dvt_lookup *to) { return dvt_flows_lookup(get(), scheduler.get(), &tuple, now_ns, to); });
    }
    /// Returns how many flows were retired; the scheduler has forgotten them.
    std::uint32_t expire(Scheduler &scheduler, std::uint64_t now_ns, std::uint32_t most) {
        return *number<std::uint32_t>(
            [&](std::uint32_t *to) { return dvt_flows_expire(get(), scheduler.get(), now_ns, most, to); });
    }
    std::optional<dvt_five_tuple> tuple(std::uint32_t flow) const {
        return written<dvt_five_tuple>([&](dvt_five_tuple *to) { return dvt_flows_tuple(get(), flow, to); });
    }
    dvt_flow_counts counts() const {
        return *written<dvt_flow_counts>([&](dvt_flow_counts *to) { return dvt_flows_counts(get(), to); });
    }
    dvt_flows *get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(dvt_flows *handle) const noexcept { dvt_flows_free(handle); }
    };
    std::unique_ptr<dvt_flows, Free> handle_;
};

/// Estimates the queue at the far end of a link from probes.
class Far {
  public:
    /// How long a packet waits in the queue now, and when the queue is full, if that has been observed.
    struct Delay {
        std::uint64_t delay_ns;
        std::optional<std::uint64_t> room_ns;
    };

    Far() {
        dvt_far *made = nullptr;
        check(dvt_far_new(&made));
        handle_.reset(made);
    }

    /// A probe leaves. Returns its number.
    std::uint64_t probe(std::uint64_t now_ns) {
        return *number<std::uint64_t>([&](std::uint64_t *to) { return dvt_far_probe(get(), now_ns, to); });
    }
    void back(std::uint64_t probe, std::uint64_t now_ns) { check(dvt_far_back(get(), probe, now_ns)); }
    std::optional<Delay> delay(std::uint64_t now_ns) const {
        std::uint64_t delay_ns = 0, room_ns = 0;
        if (!check(dvt_far_delay(get(), now_ns, &delay_ns, &room_ns))) return std::nullopt;
        return Delay{delay_ns, room_ns == DVT_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(room_ns)};
    }
    void forget() { check(dvt_far_forget(get())); }
    dvt_far *get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(dvt_far *handle) const noexcept { dvt_far_free(handle); }
    };
    std::unique_ptr<dvt_far, Free> handle_;
};

/// The receive window that a connection to a server offers.
class Offer {
  public:
    /// Begins with this window, under a policy whose windows are `first` to `longest` bytes long. UINT64_MAX leaves it to
    /// the system.
    Offer(std::uint64_t first, std::uint64_t longest, std::uint64_t begins) {
        dvt_offer *made = nullptr;
        check(dvt_offer_new(first, longest, begins, &made));
        handle_.reset(made);
    }

    std::uint64_t bytes() const {
        return *number<std::uint64_t>([&](std::uint64_t *to) { return dvt_offer_bytes(get(), to); });
    }
    /// The connection is established, by a handshake of this round trip. Returns the window to offer, if it differs.
    std::optional<std::uint64_t> establish(std::optional<std::uint64_t> round_trip_ns) {
        return number<std::uint64_t>([&](std::uint64_t *to) {
            return dvt_offer_establish(get(), round_trip_ns.value_or(DVT_UNKNOWN), to);
        });
    }
    /// The round trip to a server that is so far away that its windows have to grow fast.
    std::optional<std::uint64_t> farthest() const {
        return number<std::uint64_t>([&](std::uint64_t *to) { return dvt_offer_farthest(get(), to); });
    }
    void draws_near(std::uint64_t least_round_trip_ns) { check(dvt_offer_draws_near(get(), least_round_trip_ns)); }
    /// The window to offer if a turn asks for this one, if it differs.
    std::optional<std::uint64_t> wider(std::uint64_t window) const {
        return number<std::uint64_t>([&](std::uint64_t *to) { return dvt_offer_wider(get(), window, to); });
    }
    void offers(std::uint64_t window) { check(dvt_offer_offers(get(), window)); }
    bool is_grown() const { return check(dvt_offer_is_grown(get())); }
    dvt_offer *get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(dvt_offer *handle) const noexcept { dvt_offer_free(handle); }
    };
    std::unique_ptr<dvt_offer, Free> handle_;
};

/// A request scheduler. For its other events, pass get() to the functions of dovetail.h.
class Requests {
  public:
    Requests(const std::string &policy, const dvt_request_setup &setup) {
        dvt_requests *made = nullptr;
        check(dvt_requests_new(policy.c_str(), &setup, &made));
        handle_.reset(made);
    }
    /// A setup for HTTP over TCP: units are bytes, the rate is the link's goodput in bytes a second.
    static dvt_request_setup for_bytes(double rate) {
        return *written<dvt_request_setup>([&](dvt_request_setup *to) { return dvt_request_setup_for_bytes(rate, to); });
    }

    void set_class(std::uint32_t of, double weight, std::uint64_t now_ns) {
        check(dvt_requests_set_class(get(), of, weight, now_ns));
    }
    void set_user(std::uint32_t user, std::uint32_t of, std::uint64_t now_ns) {
        check(dvt_requests_set_user(get(), user, of, now_ns));
    }
    /// The class's maximum rate in units a second; 0 for none.
    void set_cap(std::uint32_t of, double rate, std::uint64_t now_ns) {
        check(dvt_requests_set_cap(get(), of, rate, now_ns));
    }
    void enqueue(std::uint32_t id, std::uint32_t user, std::uint64_t now_ns, std::uint64_t length = DVT_UNKNOWN) {
        dvt_request request = sized<dvt_request>();
        request.id = id;
        request.user = user;
        request.length = length;
        check(dvt_requests_enqueue(get(), &request, now_ns));
    }
    void received(std::uint32_t id, std::uint64_t units, std::uint64_t now_ns) {
        check(dvt_requests_received(get(), id, units, now_ns));
    }
    void unread(std::uint32_t id, std::uint64_t units, std::uint64_t now_ns) {
        check(dvt_requests_unread(get(), id, units, now_ns));
    }
    void ready(std::uint32_t id, std::uint64_t now_ns) { check(dvt_requests_ready(get(), id, now_ns)); }
    void ended(std::uint32_t id, std::uint64_t now_ns) { check(dvt_requests_ended(get(), id, now_ns)); }
    void cancel(std::uint32_t id, std::uint64_t now_ns) { check(dvt_requests_cancel(get(), id, now_ns)); }
    void far_queue(const std::optional<Far::Delay> &seen, std::uint64_t now_ns) {
        const std::uint64_t delay_ns = seen ? seen->delay_ns : DVT_UNKNOWN;
        const std::uint64_t room_ns = seen ? seen->room_ns.value_or(DVT_UNKNOWN) : DVT_UNKNOWN;
        check(dvt_requests_far_queue(get(), delay_ns, room_ns, now_ns));
    }
    std::optional<dvt_turn> dequeue(std::uint64_t now_ns) {
        return written<dvt_turn>([&](dvt_turn *to) { return dvt_requests_dequeue(get(), now_ns, to); });
    }
    std::optional<std::uint64_t> poll_at() const {
        return number<std::uint64_t>([&](std::uint64_t *to) { return dvt_requests_poll_at(get(), to); });
    }
    dvt_requests *get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(dvt_requests *handle) const noexcept { dvt_requests_free(handle); }
    };
    std::unique_ptr<dvt_requests, Free> handle_;
};

} // namespace dovetail

#endif
