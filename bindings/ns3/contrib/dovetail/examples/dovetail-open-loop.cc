// SPDX-License-Identifier: MIT OR Apache-2.0

// A fixed list of packets through a DovetailQueueDisc, for comparing with `dovetail compare --workload`.
//
// Nothing reacts to what the disc does, so the simulators have to agree on every instant at which a packet leaves. The
// list has bursts: packets of several flows that arrive at the same nanosecond, and at which the order of events counts.
//
//     dovetail-open-loop --list=packets.csv                              writes the list as a workload
//     dovetail-open-loop --policy=drfq --departures=drfq.csv             runs it: packet,departure_ns,outcome
//     dovetail-open-loop --departures=FOLDER                             the same with every packet policy, a file each

#include "ns3/command-line.h"
#include "ns3/data-rate.h"
#include "ns3/dovetail-helper.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-header.h"

#include <fstream>
#include <iostream>
#include <random>
#include <unordered_map>

using namespace ns3;

namespace
{

constexpr uint32_t FLOWS = 40;
constexpr uint32_t LINK_NS_PER_BYTE = 8; // 1 Gbit/s
constexpr uint32_t PPP_BYTES = 2;

/// A packet of the list.
struct Planned
{
    uint64_t arrival;
    uint32_t flow;
    uint32_t bytes;
    uint64_t cpu;
    uint64_t link;
};

/// Poisson arrivals of bursts; each flow has a size and a cost of its own, some of them heavy on the CPU, others on the link.
std::vector<Planned>
Plan(uint32_t packets, uint64_t seed)
{
    std::mt19937_64 random(seed);
    const auto uniform = [&](uint64_t least, uint64_t most) { return least + random() % (most - least + 1); };
    std::vector<Planned> list;
    // Flows are numbered as they appear, as by a flow table.
    std::unordered_map<uint32_t, uint32_t> numbers;
    uint64_t now = 1000;
    while (list.size() < packets)
    {
        for (uint64_t left = uniform(1, 6); left > 0 && list.size() < packets; left--)
        {
            const uint32_t drawn = uniform(0, FLOWS - 1);
            const uint32_t flow = numbers.try_emplace(drawn, numbers.size()).first->second;
            const uint32_t bytes = uniform(60 + 30 * (drawn % 5), 300 + 300 * (drawn % 5));
            const uint64_t cpu = drawn % 3 == 0 ? 5000 + 6 * bytes : 300 + 2 * bytes;
            list.push_back({now, flow, bytes, cpu, uint64_t{LINK_NS_PER_BYTE} * (bytes + PPP_BYTES)});
        }
        now += uniform(1, 27000);
    }
    return list;
}

/// A run of one policy over the list.
class Run
{
  public:
    Run(const std::vector<Planned>& list, const std::string& resources, const std::string& pipeline, const std::string& size)
        : m_list(list),
          m_resources(resources),
          m_pipeline(pipeline),
          m_size(size)
    {
    }

    /// When each packet has left, 0 for those that were dropped.
    std::vector<uint64_t> Of(const std::string& policy)
    {
        NodeContainer nodes(2);
        InternetStackHelper().Install(nodes);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(8000000000ULL / LINK_NS_PER_BYTE)));
        const NetDeviceContainer devices = link.Install(nodes);
        m_device = devices.Get(0);

        DovetailHelper helper(policy);
        helper.SetAttribute("Resources", StringValue(m_resources));
        helper.SetAttribute("Pipeline", StringValue(m_pipeline));
        helper.SetAttribute("MaxSize", StringValue(m_size));
        const QueueDiscContainer discs = helper.Install(NetDeviceContainer(m_device));
        const Ptr<DovetailQueueDisc> disc = DynamicCast<DovetailQueueDisc>(discs.Get(0));
        if (m_resources != "link")
        {
            disc->SetCostCallback(MakeCallback(&Run::Cost, this));
        }
        m_device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Run::Left, this));

        m_control = nodes.Get(0)->GetObject<TrafficControlLayer>();
        m_departures.assign(m_list.size(), 0);
        m_numbers.clear();
        for (std::size_t number = 0; number < m_list.size(); number++)
        {
            const Planned& planned = m_list[number];
            Simulator::Schedule(NanoSeconds(planned.arrival), &Run::Arrive, this, number);
        }
        Simulator::Run();
        Simulator::Destroy();
        return m_departures;
    }

  private:
    void Arrive(std::size_t number)
    {
        const Planned& planned = m_list[number];
        const Ptr<Packet> packet = Create<Packet>(planned.bytes - 28);
        UdpHeader udp;
        udp.SetSourcePort(10000 + planned.flow);
        udp.SetDestinationPort(9);
        packet->AddHeader(udp);
        Ipv4Header ip;
        ip.SetSource("10.0.0.1");
        ip.SetDestination("10.0.0.2");
        ip.SetProtocol(17);
        ip.SetPayloadSize(packet->GetSize());
        m_numbers[packet->GetUid()] = number;
        m_control->Send(m_device, Create<Ipv4QueueDiscItem>(packet, m_device->GetBroadcast(), 0x0800, ip));
    }

    void Cost(Ptr<const QueueDiscItem> item, DovetailTimes& demand)
    {
        demand[0] = m_list[m_numbers.at(item->GetPacket()->GetUid())].cpu;
    }

    void Left(Ptr<const Packet> packet)
    {
        m_departures[m_numbers.at(packet->GetUid())] = Simulator::Now().GetNanoSeconds();
    }

    const std::vector<Planned>& m_list;
    std::string m_resources;
    std::string m_pipeline;
    std::string m_size;
    Ptr<NetDevice> m_device;
    Ptr<TrafficControlLayer> m_control;
    std::unordered_map<uint64_t, std::size_t> m_numbers;
    std::vector<uint64_t> m_departures;
};

void
WriteList(const std::vector<Planned>& list, bool hasCpu, const std::string& file)
{
    std::ofstream out(file);
    out << "arrival_ns,flow,bytes," << (hasCpu ? "cpu_ns," : "") << "link_ns\n";
    for (const Planned& packet : list)
    {
        out << packet.arrival << ',' << packet.flow << ',' << packet.bytes << ',';
        if (hasCpu)
        {
            out << packet.cpu << ',';
        }
        out << packet.link << '\n';
    }
}

void
WriteDepartures(const std::vector<uint64_t>& departures, const std::string& file)
{
    std::ofstream out(file);
    out << "packet,departure_ns,outcome\n";
    for (std::size_t number = 0; number < departures.size(); number++)
    {
        out << number << ',' << departures[number] << ',' << (departures[number] ? "sent" : "dropped") << '\n';
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t packets = 2000;
    uint64_t seed = 1;
    std::string policy;
    std::string resources = "cpu,link";
    std::string pipeline = "no-wait";
    std::string size = "1000p";
    std::string listFile;
    std::string departures;
    CommandLine cmd(__FILE__);
    cmd.AddValue("packets", "how many packets", packets);
    cmd.AddValue("seed", "of the list", seed);
    cmd.AddValue("policy", "the policy; empty: every packet policy in turn", policy);
    cmd.AddValue("resources", "link, or cpu,link", resources);
    cmd.AddValue("pipeline", "no-wait, unbounded or buffer=K", pipeline);
    cmd.AddValue("size", "the disc's MaxSize", size);
    cmd.AddValue("list", "write the list of packets to this file, and end", listFile);
    cmd.AddValue("departures", "a file, or a folder where there is no policy", departures);
    cmd.Parse(argc, argv);

    const std::vector<Planned> list = Plan(packets, seed);
    if (!listFile.empty())
    {
        WriteList(list, resources != "link", listFile);
        return 0;
    }
    Run run(list, resources, pipeline, size);
    std::vector<std::string> policies{policy};
    if (policy.empty())
    {
        policies = DovetailQueueDisc::GetPolicies();
    }
    for (const std::string& one : policies)
    {
        // Which policies order packets before later resources, too, is for the disc to say.
        const Ptr<DovetailQueueDisc> trial = CreateObject<DovetailQueueDisc>();
        trial->SetAttribute("Policy", StringValue(one));
        trial->SetAttribute("Resources", StringValue(resources));
        trial->SetAttribute("Pipeline", StringValue(pipeline));
        trial->SetAttribute("LinkRate", DataRateValue(DataRate("1Gbps")));
        const std::string problem = trial->Problem();
        if (!problem.empty())
        {
            std::cout << one << ": " << problem << std::endl;
            continue;
        }
        const std::vector<uint64_t> left = run.Of(one);
        uint64_t last = 0;
        uint32_t sent = 0;
        for (const uint64_t at : left)
        {
            last = std::max(last, at);
            sent += at > 0;
        }
        std::cout << one << ": " << sent << " of " << left.size() << " packets left, the last at " << last << " ns" << std::endl;
        if (!departures.empty())
        {
            WriteDepartures(left, policy.empty() ? departures + "/" + one + ".csv" : departures);
        }
    }
    return 0;
}
