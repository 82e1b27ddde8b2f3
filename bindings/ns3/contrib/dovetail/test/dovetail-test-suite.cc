// SPDX-License-Identifier: MIT OR Apache-2.0

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/dovetail-classes.h"
#include "ns3/dovetail-helper.h"
#include "ns3/dovetail-pipeline.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/enum.h"
#include "ns3/fifo-queue-disc.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-header.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-header.h"
#include "ns3/uinteger.h"

#include <random>
#include <unordered_map>

using namespace ns3;

namespace
{

/// A UDP packet over IPv4 of a flow, so many bytes long as IP counts them.
Ptr<QueueDiscItem>
MakeItem(uint16_t flow, uint32_t bytes, const Address& to = Address())
{
    const Ptr<Packet> packet = Create<Packet>(bytes - 28);
    UdpHeader udp;
    udp.SetSourcePort(10000 + flow);
    udp.SetDestinationPort(9);
    packet->AddHeader(udp);
    Ipv4Header ip;
    ip.SetSource("10.1.0.1");
    ip.SetDestination("10.2.0.1");
    ip.SetProtocol(17);
    ip.SetPayloadSize(packet->GetSize());
    return Create<Ipv4QueueDiscItem>(packet, to, 0x0800, ip);
}

/// A disc without a device, which is asked for packets by hand.
Ptr<DovetailQueueDisc>
MakeDisc(const std::string& policy, const std::string& size)
{
    const Ptr<DovetailQueueDisc> disc = CreateObjectWithAttributes<DovetailQueueDisc>("Policy",
                                                                                     StringValue(policy),
                                                                                     "MaxSize",
                                                                                     StringValue(size),
                                                                                     "LinkRate",
                                                                                     StringValue("1Mbps"),
                                                                                     "JustInTime",
                                                                                     BooleanValue(false),
                                                                                     "Checked",
                                                                                     BooleanValue(true));
    disc->Initialize();
    return disc;
}

/// Two nodes and a link between them, with a disc before it.
struct Link
{
    Link(const std::string& rate, Ptr<QueueDisc> disc, const std::string& deviceQueue = "100p")
    {
        NodeContainer nodes(2);
        InternetStackHelper().Install(nodes);
        PointToPointHelper helper;
        helper.SetDeviceAttribute("DataRate", StringValue(rate));
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(deviceQueue));
        device = helper.Install(nodes).Get(0);
        control = nodes.Get(0)->GetObject<TrafficControlLayer>();
        control->SetRootQueueDiscOnDevice(device, disc);
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Link::Left, this));
    }

    void Arrive(Time at, uint16_t flow, uint32_t bytes)
    {
        Simulator::Schedule(at, [this, flow, bytes] {
            const Ptr<QueueDiscItem> item = MakeItem(flow, bytes, device->GetBroadcast());
            numbers[item->GetPacket()->GetUid()] = numbers.size();
            control->Send(device, item);
        });
    }

    void Left(Ptr<const Packet> packet)
    {
        left.emplace_back(numbers.at(packet->GetUid()), Simulator::Now().GetNanoSeconds());
    }

    Ptr<NetDevice> device;
    Ptr<TrafficControlLayer> control;
    std::unordered_map<uint64_t, uint32_t> numbers;
    std::vector<std::pair<uint32_t, int64_t>> left; //!< number of arrival, and when it was sent whole
};

} // namespace

/// ns-3's statistics count what is in the disc, what leaves it and what it drops.
class DovetailStatisticsTestCase : public TestCase
{
  public:
    DovetailStatisticsTestCase()
        : TestCase("Statistics, drops with their reasons and the order of drr")
    {
    }

  private:
    void DoRun() override
    {
        Ptr<DovetailQueueDisc> disc = MakeDisc("drr:quantum=500", "4p");
        std::map<std::string, uint32_t> reasons;
        disc->TraceConnectWithoutContext(
            "DropBeforeEnqueue",
            Callback<void, Ptr<const QueueDiscItem>, const char*>(
                [&](Ptr<const QueueDiscItem>, const char* reason) { reasons[reason]++; }));
        for (const uint16_t flow : {1, 1, 1, 2, 2})
        {
            disc->Enqueue(MakeItem(flow, 500));
        }
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 4, "four packets find room");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNBytes(), 2000, "and are counted in bytes");
        NS_TEST_EXPECT_MSG_EQ(disc->GetInternalQueue(0)->GetNPackets(), 4, "in an internal queue");
        NS_TEST_EXPECT_MSG_EQ(reasons[DovetailQueueDisc::BUFFER_FULL], 1, "the trace has the reason");
        NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNDroppedPackets(DovetailQueueDisc::BUFFER_FULL), 1, "as statistics have");
        std::string order;
        while (Ptr<QueueDiscItem> item = disc->Dequeue())
        {
            uint8_t port[2];
            item->GetPacket()->CopyData(port, 2);
            order += std::to_string((port[0] << 8 | port[1]) - 10000);
        }
        NS_TEST_EXPECT_MSG_EQ(order, "1211", "flows take turns, and what was dropped was the last of flow 2");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 0, "nothing is left");
        NS_TEST_EXPECT_MSG_EQ(disc->GetStats().nTotalDequeuedPackets, 4, "what left is counted");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNFlows(), 2, "of two flows");

        // Who has most makes room for others.
        disc = CreateObjectWithAttributes<DovetailQueueDisc>("MaxSize",
                                                             StringValue("1500B"),
                                                             "LinkRate",
                                                             StringValue("1Mbps"),
                                                             "JustInTime",
                                                             BooleanValue(false),
                                                             "OnFull",
                                                             EnumValue(DovetailQueueDisc::LONGEST));
        disc->Initialize();
        for (const uint16_t flow : {1, 1, 1, 2})
        {
            NS_TEST_EXPECT_MSG_EQ(disc->Enqueue(MakeItem(flow, 500)), true, "room is made");
        }
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 3, "for a packet of the flow with fewer bytes");
        NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNDroppedPackets(DovetailQueueDisc::EVICTED), 1, "and that is counted");

        // A flow's own limit.
        disc = CreateObjectWithAttributes<DovetailQueueDisc>("FlowMaxSize",
                                                             StringValue("2p"),
                                                             "LinkRate",
                                                             StringValue("1Mbps"),
                                                             "JustInTime",
                                                             BooleanValue(false),
                                                             "Flows",
                                                             UintegerValue(2));
        disc->Initialize();
        for (const uint16_t flow : {1, 1, 1, 2, 3})
        {
            disc->Enqueue(MakeItem(flow, 500));
        }
        NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNDroppedPackets(DovetailQueueDisc::FLOW_FULL), 1, "a flow's limit holds");
        NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNDroppedPackets(DovetailQueueDisc::NO_FLOW), 1, "so does that of flows");
        Simulator::Destroy();
    }
};

/// What is wrong with attributes is said in a sentence.
class DovetailErrorsTestCase : public TestCase
{
  public:
    DovetailErrorsTestCase()
        : TestCase("Errors name what is wrong")
    {
    }

  private:
    void Expect(const std::string& attribute, const std::string& value, const std::string& said)
    {
        const Ptr<DovetailQueueDisc> disc = CreateObject<DovetailQueueDisc>();
        disc->SetAttribute("LinkRate", StringValue("1Mbps"));
        disc->SetAttribute("Resources", StringValue("cpu,link"));
        NS_TEST_EXPECT_MSG_EQ(disc->Problem(), "", "nothing is wrong yet");
        disc->SetAttribute(attribute, StringValue(value));
        NS_TEST_EXPECT_MSG_NE(disc->Problem().find(said), std::string::npos, value << ": " << disc->Problem());
    }

    void DoRun() override
    {
        Expect("Policy", "dr", "Policy 'dr': unknown policy 'dr'");
        Expect("Policy", "drr:quantum=x", "quantum");
        Expect("LinkRate", "0bps", "the device states no DataRate: set LinkRate");
        Expect("Resources", "cpu,cpu,link", "two of the name 'cpu'");
        Expect("Resources", "", "Resources names 0 resources");
        Expect("Resources", "a,b,c,d,e,f,g,h,link", "there are 1 to 8");
        Expect("JustInTime", "false", "needs JustInTime");
        Expect("Pipeline", "buffer=", "none of no-wait, unbounded and buffer=K");
        Expect("Classes", "web gpu=1us", "class 'web' of the attribute Classes: 'gpu' is none of port, prefix, weight, cpu");
        Expect("Classes", "web cpu=1", "'1' cannot be its cpu");
        Expect("Classes", "web port=70000", "'70000' cannot be its port");
        Expect("Classes", "lan prefix=10.0.0.0/33", "'10.0.0.0/33' cannot be its prefix");
        Expect("Classes", "weight=2", "a class begins with its name");

        const Ptr<DovetailQueueDisc> disc = CreateObject<DovetailQueueDisc>();
        disc->SetAttribute("LinkRate", StringValue("1Mbps"));
        disc->SetAttribute("Resources", StringValue("cpu,link"));
        disc->SetAttribute("Policy", StringValue("wfq-split"));
        NS_TEST_EXPECT_MSG_EQ(disc->Problem(), "", "a no-wait pipeline has nothing to order later");
        disc->SetAttribute("Pipeline", StringValue("unbounded"));
        NS_TEST_EXPECT_MSG_NE(disc->Problem().find("Pipeline has to be no-wait"), std::string::npos, disc->Problem());
    }
};

/// Classes by port and prefix, and costs.
class DovetailClassesTestCase : public TestCase
{
  public:
    DovetailClassesTestCase()
        : TestCase("Classes by port and prefix, and their costs")
    {
    }

  private:
    void DoRun() override
    {
        DovetailClasses classes;
        const std::string wrong = classes.Parse("ipsec port=443 cpu=15ns*bytes+84.5us; lan prefix=10.1.128.0/17 weight=2;"
                                                "six prefix=2001:db8::/33 cpu=1ms; rest cpu=3us",
                                                {"cpu"});
        NS_TEST_ASSERT_MSG_EQ(wrong, "", "they can be read");
        NS_TEST_EXPECT_MSG_EQ(classes.Count(), 5, "and one for what matches none");
        NS_TEST_EXPECT_MSG_EQ(classes.At(0).costs[0].Of(1000), 99500, "15 ns for each byte, 84.5 us for each packet");
        NS_TEST_EXPECT_MSG_EQ(classes.At(1).weight, 2, "a weight");
        NS_TEST_EXPECT_MSG_EQ(classes.At(2).costs[0].Of(1), 1000000, "a time");

        DovetailTuple tuple;
        tuple.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 127, 1};
        NS_TEST_EXPECT_MSG_EQ(classes.Of(tuple), 3, "a bit is missing to the prefix");
        tuple.source[14] = 128;
        NS_TEST_EXPECT_MSG_EQ(classes.Of(tuple), 1, "now it has it");
        std::swap(tuple.source, tuple.destination);
        NS_TEST_EXPECT_MSG_EQ(classes.Of(tuple), 1, "it is of the prefix by its destination, too");
        tuple.sourcePort = 443;
        NS_TEST_EXPECT_MSG_EQ(classes.Of(tuple), 0, "the first class that matches is a packet's");
        DovetailTuple six;
        six.source = {0x20, 0x01, 0x0d, 0xb8, 0x7f};
        NS_TEST_EXPECT_MSG_EQ(classes.Of(six), 2, "IPv6");
        six.source[4] = 0x80;
        NS_TEST_EXPECT_MSG_EQ(classes.Of(six), 3, "and not of its prefix");

        DovetailCost cost;
        for (const char* text : {"", "1", "us", "1us+2us", "1ns*byte", "-1us", "1ns*bytes*2", "1e3us"})
        {
            NS_TEST_EXPECT_MSG_EQ(DovetailCost::Parse(text, cost), false, text);
        }
    }
};

/// Packets leave when the equations of the pipeline say.
class DovetailPipelineTestCase : public TestCase
{
  public:
    DovetailPipelineTestCase()
        : TestCase("Starts and ends in each pipeline")
    {
    }

  private:
    std::vector<uint64_t> Starts(const std::string& mode, const std::vector<std::pair<uint64_t, uint64_t>>& demands)
    {
        DovetailPipeline pipeline;
        NS_TEST_EXPECT_MSG_EQ(pipeline.SetMode(mode), true, mode);
        pipeline.Reset(2);
        std::vector<uint64_t> starts;
        for (const auto& [cpu, link] : demands)
        {
            starts.push_back(pipeline.Admit(pipeline.Ready(), {cpu, link}).start[0]);
        }
        return starts;
    }

    void DoRun() override
    {
        const std::vector<std::pair<uint64_t, uint64_t>> slowLink(4, {1, 5});
        const auto expect = [&](const std::string& mode, const std::vector<uint64_t>& starts) {
            NS_TEST_EXPECT_MSG_EQ((Starts(mode, slowLink) == starts), true, mode);
        };
        expect("unbounded", {0, 1, 2, 3});
        expect("buffer=1", {0, 1, 2, 6});
        expect("buffer=0", {0, 1, 6, 11});
        expect("no-wait", {0, 5, 10, 15});
    }
};

/// With FIFO the disc is ns-3's own, packet by packet.
class DovetailFifoTestCase : public TestCase
{
  public:
    DovetailFifoTestCase()
        : TestCase("fifo is ns-3's own FIFO to the packet")
    {
    }

  private:
    std::vector<std::pair<uint32_t, int64_t>> Departures(Ptr<QueueDisc> disc, uint32_t& dropped)
    {
        Link link("10Mbps", disc, "1p");
        std::mt19937 random(7);
        Time at = NanoSeconds(0);
        for (int packet = 0; packet < 5000; packet++)
        {
            at += NanoSeconds(random() % 1000000);
            link.Arrive(at, random() % 20, 100 + random() % 1400);
        }
        Simulator::Run();
        dropped = disc->GetStats().nTotalDroppedPackets;
        Simulator::Destroy();
        return link.left;
    }

    void DoRun() override
    {
        uint32_t theirs = 0;
        uint32_t ours = 0;
        const auto native =
            Departures(CreateObjectWithAttributes<FifoQueueDisc>("MaxSize", StringValue("30p")), theirs);
        NS_TEST_EXPECT_MSG_GT(theirs, 100, "the test has drops");
        const auto make = [](bool justInTime, const std::string& size) {
            return CreateObjectWithAttributes<DovetailQueueDisc>("Policy",
                                                                 StringValue("fifo"),
                                                                 "MaxSize",
                                                                 StringValue(size),
                                                                 "JustInTime",
                                                                 BooleanValue(justInTime));
        };
        NS_TEST_EXPECT_MSG_EQ((Departures(make(false, "30p"), ours) == native), true, "as ns-3's discs do");
        NS_TEST_EXPECT_MSG_EQ(ours, theirs, "as many are dropped");
        // The packet that would wait in the device's queue waits in the disc.
        NS_TEST_EXPECT_MSG_EQ((Departures(make(true, "31p"), ours) == native), true, "just in time");
        NS_TEST_EXPECT_MSG_EQ(ours, theirs, "as many are dropped");
    }
};

/// The CPU takes its time, the link the device's, and traces tell of it.
class DovetailStagesTestCase : public TestCase
{
  public:
    DovetailStagesTestCase()
        : TestCase("A CPU before the device; sojourn times and dominant shares")
    {
    }

  private:
    void DoRun() override
    {
        DovetailHelper helper("drfq");
        helper.SetCpuStage("unbounded");
        helper.AddClass("a port=10001 cpu=1ms");
        helper.AddClass("b port=10002 cpu=10ns*bytes");
        const Ptr<DovetailQueueDisc> disc = CreateObject<DovetailQueueDisc>();
        Link link("8Mbps", disc);
        // 998 bytes and PPP's 2 are a millisecond on the link.
        const Ptr<DovetailQueueDisc> installed =
            DynamicCast<DovetailQueueDisc>(helper.Install(NetDeviceContainer(link.device)).Get(0));
        NS_TEST_ASSERT_MSG_EQ((link.control->GetRootQueueDiscOnDevice(link.device) == installed), true, "it replaces another");
        std::vector<int64_t> sojourns;
        installed->TraceConnectWithoutContext(
            "Sojourn",
            Callback<void, Ptr<const QueueDiscItem>, uint32_t, Time>(
                [&](Ptr<const QueueDiscItem>, uint32_t, Time sojourn) { sojourns.push_back(sojourn.GetNanoSeconds()); }));
        std::map<uint32_t, std::pair<uint32_t, double>> shares;
        installed->TraceConnectWithoutContext(
            "DominantShare",
            Callback<void, uint32_t, uint32_t, double>([&](uint32_t flow, uint32_t resource, double share) {
                shares[flow] = {resource, share};
            }));
        link.Arrive(MilliSeconds(1), 1, 998);
        link.Arrive(MilliSeconds(1), 1, 498);
        link.Arrive(MilliSeconds(10), 2, 998);
        link.Arrive(Seconds(2), 2, 998);
        Simulator::Run();
        const std::vector<std::pair<uint32_t, int64_t>> expected{
            {0, 1000000 + 1000000 + 1000000},
            {1, 1000000 + 2000000 + 500000},
            {2, 10000000 + 9980 + 1000000},
            {3, 2000000000 + 9980 + 1000000},
        };
        NS_TEST_EXPECT_MSG_EQ((link.left == expected), true, "they leave after both");
        NS_TEST_EXPECT_MSG_EQ((sojourns == std::vector<int64_t>{1000000, 2000000, 9980, 9980}), true, "sojourn times");
        NS_TEST_EXPECT_MSG_EQ(shares[0].first, 0, "the CPU is the first flow's dominant resource");
        NS_TEST_EXPECT_MSG_EQ_TOL(shares[0].second, 0.002, 1e-9, "which it had for 2 ms of a second");
        NS_TEST_EXPECT_MSG_EQ(shares[1].first, 1, "the link is the second's");
        NS_TEST_EXPECT_MSG_EQ_TOL(shares[1].second, 0.001, 1e-9, "for 1 ms");
        NS_TEST_EXPECT_MSG_EQ(installed->GetFlowClass(1), "b", "classes are known by flow");
        DovetailTuple tuple;
        NS_TEST_EXPECT_MSG_EQ(installed->GetFlowTuple(1, tuple), true, "and so are 5-tuples");
        NS_TEST_EXPECT_MSG_EQ(tuple.sourcePort, 10002, "and their ports");
        Simulator::Destroy();
    }
};

/// Every policy gives out all packets, those of a flow in order, on both paths through the disc.
class DovetailPoliciesTestCase : public TestCase
{
  public:
    DovetailPoliciesTestCase()
        : TestCase("Every policy: all packets leave, those of a flow in order")
    {
    }

  private:
    void Run(const std::string& policy, bool justInTime, const std::string& resources)
    {
        const Ptr<DovetailQueueDisc> disc = CreateObjectWithAttributes<DovetailQueueDisc>("Policy",
                                                                                         StringValue(policy),
                                                                                         "JustInTime",
                                                                                         BooleanValue(justInTime),
                                                                                         "Resources",
                                                                                         StringValue(resources),
                                                                                         "Checked",
                                                                                         BooleanValue(true));
        if (resources != "link")
        {
            disc->SetAttribute("Classes", StringValue("a port=10001 cpu=20us; b cpu=100ns*bytes"));
        }
        Link link("100Mbps", disc);
        std::mt19937 random(3);
        std::vector<uint16_t> flows;
        for (int packet = 0; packet < 600; packet++)
        {
            flows.push_back(random() % 9);
            link.Arrive(MicroSeconds(packet / 3 * 100), flows.back(), 100 + random() % 1400);
        }
        // A device without packets for a while, and knobs that are set while packets flow.
        link.Arrive(Seconds(1), 1, 500);
        flows.push_back(1);
        Simulator::Schedule(MilliSeconds(5), [&] { disc->SetPolicy(policy); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(link.left.size(), flows.size(), policy << ": all leave");
        std::map<uint16_t, uint32_t> last;
        bool inOrder = true;
        for (const auto& [number, at] : link.left)
        {
            auto [before, isFirst] = last.try_emplace(flows.at(number), number);
            inOrder = inOrder && (isFirst || before->second < number);
            before->second = number;
        }
        NS_TEST_EXPECT_MSG_EQ(inOrder, true, policy << ": those of a flow in order");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 0, policy << ": nothing is left");
        Simulator::Destroy();
    }

    void DoRun() override
    {
        const std::vector<std::string> policies = DovetailQueueDisc::GetPolicies();
        NS_TEST_EXPECT_MSG_GT(policies.size(), 15, "there are policies");
        for (const std::string& policy : policies)
        {
            Run(policy, true, "link");
            Run(policy, false, "link");
            Run(policy, true, "cpu,link");
        }
    }
};

/// A device whose queue stops the disc, and IPv6.
class DovetailDeviceTestCase : public TestCase
{
  public:
    DovetailDeviceTestCase()
        : TestCase("A device that is slower than the disc was told; IPv6")
    {
    }

  private:
    void DoRun() override
    {
        Ptr<DovetailQueueDisc> disc =
            CreateObjectWithAttributes<DovetailQueueDisc>("LinkRate", StringValue("100Mbps"));
        Link link("10Mbps", disc, "2p");
        for (int packet = 0; packet < 50; packet++)
        {
            link.Arrive(MicroSeconds(packet), packet % 5, 998);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(link.left.size(), 50, "nothing is lost where the device's queue stops the disc");
        NS_TEST_EXPECT_MSG_EQ(link.left.back().second, 50 * 800000, "and the device is never idle");
        Simulator::Destroy();

        disc = MakeDisc("drr", "10p");
        for (const char* address : {"2001:db8::1", "2001:db8::2", "2001:db8::1"})
        {
            const Ptr<Packet> packet = Create<Packet>(100);
            Ipv6Header ip;
            ip.SetSource(address);
            ip.SetDestination("2001:db8::9");
            ip.SetNextHeader(17);
            disc->Enqueue(Create<Ipv6QueueDiscItem>(packet, Address(), 0x86dd, ip));
        }
        NS_TEST_EXPECT_MSG_EQ(disc->GetNFlows(), 2, "flows of IPv6 are told apart");
        DovetailTuple tuple;
        disc->GetFlowTuple(1, tuple);
        NS_TEST_EXPECT_MSG_EQ(+tuple.source[15], 2, "by their addresses");
        Simulator::Destroy();
    }
};

/// The test suite of the module.
class DovetailTestSuite : public TestSuite
{
  public:
    DovetailTestSuite()
        : TestSuite("dovetail-queue-disc", Type::UNIT)
    {
        AddTestCase(new DovetailStatisticsTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailErrorsTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailClassesTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailPipelineTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailFifoTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailStagesTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailPoliciesTestCase, TestCase::Duration::QUICK);
        AddTestCase(new DovetailDeviceTestCase, TestCase::Duration::QUICK);
    }
};

static DovetailTestSuite g_dovetailTestSuite; //!< registers itself
