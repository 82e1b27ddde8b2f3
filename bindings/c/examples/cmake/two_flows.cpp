// Two flows before a CPU and a link: large packets are cheap on the CPU, small ones are not. DRFQ gives both the same share
// of the resource that each needs most.
#include <dovetail.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>

int main() {
    struct Kind {
        std::uint32_t bytes;
        std::uint64_t cpu_ns, link_ns;
    };
    const std::array<Kind, 2> kinds = {{{1500, 4000, 12000}, {300, 8000, 2400}}};
    dovetail::Scheduler scheduler("drfq", dovetail::setup(2));
    std::uint64_t handle = 0, now_ns = 0;
    for (int packets = 0; packets < 60; packets++)
        for (std::uint32_t flow = 0; flow < kinds.size(); flow++) {
            const Kind &kind = kinds[flow];
            const dvt_packet packet = dovetail::packet(flow, kind.bytes, 0, handle++, {kind.cpu_ns, kind.link_ns});
            // The setup has no limits: nothing is evicted, and nothing should be refused.
            if (scheduler.enqueue(packet, 0).refused != DVT_QUEUED) return 1;
        }
    std::array<std::uint64_t, 2> dominant_ns = {};
    for (int packets = 0; packets < 60; packets++) {
        const dvt_dispatch next = scheduler.dequeue(now_ns).value();
        for (std::uint32_t resource = 0; resource < 2; resource++)
            for (dvt_stage stage : {DVT_STARTED, DVT_FINISHED})
                if (scheduler.wants(stage, resource))
                    scheduler.feedback(next, resource, stage, stage == DVT_FINISHED ? next.demand_ns[resource] : 0, now_ns);
        now_ns += next.demand_ns[0];
        dominant_ns[next.flow] += next.demand_ns[next.flow == 0 ? 1 : 0];
    }
    std::cout << "large packets had " << dominant_ns[0] / 1000 << " us of the link, small ones " << dominant_ns[1] / 1000
              << " us of the CPU\n";
    const auto [few, many] = std::minmax(dominant_ns[0], dominant_ns[1]);
    return many - few <= 2 * 12000 ? 0 : 1;
}
