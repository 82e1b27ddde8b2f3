// SPDX-License-Identifier: MIT OR Apache-2.0

// Many flows through one link, for the time that a run takes with different queue discs.
//
//     dovetail-many-flows --disc=fifo                ns-3's own FIFO
//     dovetail-many-flows --disc=fq-codel            ns-3's own FqCoDel
//     dovetail-many-flows --disc=dovetail:drr        a policy of Dovetail
//
// Flows are TCP connections, which send what a disc lets them, or with --transport=udp the same packets whatever the disc does.
// Every other device has a disc as well: ns-3's default, which is FqCoDel, or with --others=fifo its FIFO.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <iostream>
#include <map>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string disc = "dovetail:drr";
    std::string rate = "100Mbps";
    std::string size = "1000p";
    std::string others = "default";
    std::string transport = "tcp";
    uint32_t flows = 1000;
    double seconds = 10;
    CommandLine cmd(__FILE__);
    cmd.AddValue("disc", "fifo, fq-codel, fq-cobalt or dovetail:POLICY", disc);
    cmd.AddValue("flows", "how many", flows);
    cmd.AddValue("transport", "tcp, or udp: a tenth more packets than the link carries", transport);
    cmd.AddValue("rate", "of the link that they share", rate);
    cmd.AddValue("size", "the disc's MaxSize", size);
    cmd.AddValue("others", "discs of the other devices: default or fifo", others);
    cmd.AddValue("seconds", "how long they send", seconds);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    constexpr uint32_t SIDE = 10;
    NodeContainer senders(SIDE);
    NodeContainer receivers(SIDE);
    NodeContainer routers(2);
    InternetStackHelper stack;
    stack.Install(senders);
    stack.Install(receivers);
    stack.Install(routers);

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    NS_ABORT_MSG_UNLESS(others == "default" || others == "fifo", "--others is default or fifo");
    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FifoQueueDisc");
    // A device that has a disc when it gets an address keeps it.
    const auto assign = [&](const NetDeviceContainer& devices) {
        if (others == "fifo")
        {
            plain.Install(devices);
        }
        return addresses.Assign(devices);
    };
    std::vector<Ipv4Address> to;
    for (uint32_t at = 0; at < SIDE; at++)
    {
        assign(access.Install(senders.Get(at), routers.Get(0)));
        addresses.NewNetwork();
        to.push_back(assign(access.Install(receivers.Get(at), routers.Get(1))).GetAddress(0));
        addresses.NewNetwork();
    }
    PointToPointHelper shared;
    shared.SetDeviceAttribute("DataRate", StringValue(rate));
    shared.SetChannelAttribute("Delay", StringValue("8ms"));
    shared.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer link = shared.Install(routers);

    TrafficControlHelper control;
    const std::string ours = "dovetail:";
    if (disc.compare(0, ours.size(), ours) == 0)
    {
        control.SetRootQueueDisc("ns3::DovetailQueueDisc",
                                 "Policy",
                                 StringValue(disc.substr(ours.size())),
                                 "MaxSize",
                                 StringValue(size));
    }
    else
    {
        const std::map<std::string, std::string> natives{{"fifo", "ns3::FifoQueueDisc"},
                                                         {"fq-codel", "ns3::FqCoDelQueueDisc"},
                                                         {"fq-cobalt", "ns3::FqCobaltQueueDisc"}};
        NS_ABORT_MSG_UNLESS(natives.count(disc), "--disc is fifo, fq-codel, fq-cobalt or dovetail:POLICY");
        control.SetRootQueueDisc(natives.at(disc), "MaxSize", StringValue(size));
    }
    const Ptr<QueueDisc> watched = control.Install(link.Get(0)).Get(0);
    if (others == "fifo")
    {
        plain.Install(link.Get(1));
    }
    addresses.Assign(link);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    NS_ABORT_MSG_UNLESS(transport == "tcp" || transport == "udp", "--transport is tcp or udp");
    const bool isTcp = transport == "tcp";
    PacketSinkHelper sink(isTcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory",
                          InetSocketAddress(Ipv4Address::GetAny(), 9));
    const ApplicationContainer sinks = sink.Install(receivers);
    const Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
    constexpr uint32_t PAYLOAD = 1472;
    const Time interval = Seconds(flows * (PAYLOAD + 28) * 8 / (1.1 * DataRate(rate).GetBitRate()));
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        const InetSocketAddress address(to[flow / SIDE % SIDE], 9);
        ApplicationContainer sender;
        if (isTcp)
        {
            sender = BulkSendHelper("ns3::TcpSocketFactory", address).Install(senders.Get(flow % SIDE));
        }
        else
        {
            UdpClientHelper client(address);
            client.SetAttribute("Interval", TimeValue(interval));
            client.SetAttribute("MaxPackets", UintegerValue(0));
            client.SetAttribute("PacketSize", UintegerValue(PAYLOAD));
            sender = client.Install(senders.Get(flow % SIDE));
        }
        sender.Start(Seconds(random->GetValue(0, 1)));
    }

    Simulator::Stop(Seconds(seconds));
    const std::clock_t begun = std::clock();
    Simulator::Run();
    const double took = double(std::clock() - begun) / CLOCKS_PER_SEC;
    uint64_t received = 0;
    for (uint32_t at = 0; at < sinks.GetN(); at++)
    {
        received += DynamicCast<PacketSink>(sinks.Get(at))->GetTotalRx();
    }
    const QueueDisc::Stats stats = watched->GetStats();
    std::cout << "disc,flows,sent,dropped,goodput_mbps,events,cpu_s\n"
              << disc << ',' << flows << ',' << stats.nTotalSentPackets << ',' << stats.nTotalDroppedPackets << ','
              << received * 8 / seconds / 1e6 << ',' << Simulator::GetEventCount() << ',' << took << std::endl;
    Simulator::Destroy();
    return 0;
}
