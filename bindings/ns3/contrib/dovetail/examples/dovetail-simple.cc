// SPDX-License-Identifier: MIT OR Apache-2.0

// A first example: a call beside two downloads on a link of 5 Mbit/s, with a CPU before it that encrypts one of the downloads.
//
//     dovetail-simple --policy=drfq
//
// It prints what each flow got: packets, the longest sojourn time, and the part of its dominant resource in each second.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/dovetail-helper.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <iostream>
#include <map>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string policy = "drfq";
    double seconds = 10;
    CommandLine cmd(__FILE__);
    cmd.AddValue("policy", "a policy of Dovetail", policy);
    cmd.AddValue("seconds", "how long it lasts", seconds);
    cmd.Parse(argc, argv);

    NodeContainer nodes(3);
    InternetStackHelper().Install(nodes);
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    helper.SetChannelAttribute("Delay", StringValue("5ms"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(helper.Install(nodes.Get(0), nodes.Get(1)));
    addresses.NewNetwork();
    helper.SetDeviceAttribute("DataRate", StringValue("5Mbps"));
    const NetDeviceContainer narrow = helper.Install(nodes.Get(1), nodes.Get(2));

    DovetailHelper dovetail(policy);
    dovetail.SetCpuStage("buffer=2");
    dovetail.AddClass("ipsec port=443 cpu=2us*bytes+85us");
    dovetail.AddClass("plain cpu=50us");
    dovetail.SetAttribute("MaxSize", StringValue("200p"));
    const Ptr<DovetailQueueDisc> disc =
        DynamicCast<DovetailQueueDisc>(dovetail.Install(NetDeviceContainer(narrow.Get(0))).Get(0));
    const Ipv4Address to = addresses.Assign(narrow).GetAddress(1);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    ApplicationContainer senders;
    for (const uint16_t port : {443, 80})
    {
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(nodes.Get(2));
        senders.Add(BulkSendHelper("ns3::TcpSocketFactory", InetSocketAddress(to, port)).Install(nodes.Get(0)));
    }
    OnOffHelper call("ns3::UdpSocketFactory", InetSocketAddress(to, 5060));
    call.SetConstantRate(DataRate("80kbps"), 172);
    senders.Add(call.Install(nodes.Get(0)));
    PacketSinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5060)).Install(nodes.Get(2));
    senders.Stop(Seconds(seconds));

    struct Got
    {
        uint64_t packets{0};
        Time longest;
        double share{0};
    };

    std::map<uint32_t, Got> got;
    disc->TraceConnectWithoutContext(
        "Sojourn",
        Callback<void, Ptr<const QueueDiscItem>, uint32_t, Time>([&](Ptr<const QueueDiscItem>, uint32_t flow, Time sojourn) {
            got[flow].packets++;
            got[flow].longest = std::max(got[flow].longest, sojourn);
        }));
    disc->TraceConnectWithoutContext("DominantShare",
                                     Callback<void, uint32_t, uint32_t, double>(
                                         [&](uint32_t flow, uint32_t, double share) { got[flow].share = share; }));
    Simulator::Stop(Seconds(seconds + 1));
    Simulator::Run();
    for (const auto& [flow, of] : got)
    {
        DovetailTuple tuple;
        disc->GetFlowTuple(flow, tuple);
        std::cout << "port " << tuple.destinationPort << ", class " << disc->GetFlowClass(flow) << ": " << of.packets
                  << " packets, at most " << of.longest.GetMilliSeconds() << " ms in the disc, dominant share in the last second "
                  << of.share << std::endl;
    }
    std::cout << disc->GetStats() << std::endl;
    Simulator::Destroy();
    return 0;
}
