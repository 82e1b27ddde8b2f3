// SPDX-License-Identifier: MIT OR Apache-2.0

// Twenty flows through a CPU and a link of 400 Mbit/s: four network functions, packets of five sizes each.
//
// The box is that of Zhang et al., ATFQ, IEEE TNSM 12(4), 2015, section V.C, which Dovetail has as the scenario atfq-fig9.
// There flows always have packets waiting, whatever happens to these; with --transport=tcp they are TCP connections.
//
//     dovetail-cpu --policy=atfq --transport=tcp --pipeline=unbounded

#include "ns3/core-module.h"
#include "ns3/dovetail-helper.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t FUNCTIONS = 4;
constexpr uint16_t SIZES = 5;
constexpr uint16_t FIRST_PORT = 2000;
// Packets of a flow that wait, at most or always.
constexpr uint32_t BACKLOG = 64;
// IP, TCP and its timestamps.
constexpr uint32_t HEADERS = 52;
const double LINK_BPS = 400e6;

/// Nanoseconds a byte and a packet: ipsec, monitoring, forwarding, redundancy elimination (ATFQ, table II).
const DovetailCost COSTS[FUNCTIONS] = {{15, 84500}, {0.8, 12100}, {2.86, 6200}, {6.987, 10970}};

uint32_t
SizeOf(uint16_t flow)
{
    return 200 * (1 + flow % SIZES);
}

/// The box, its flows, and what they got.
class Box
{
  public:
    Box(const std::string& policy, const std::string& pipeline, Time from, Time until)
        : m_from(from),
          m_until(until),
          m_nodes(3)
    {
        InternetStackHelper().Install(m_nodes);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
        access.SetChannelAttribute("Delay", StringValue("1ms"));
        addresses.Assign(access.Install(m_nodes.Get(0), m_nodes.Get(1)));
        addresses.NewNetwork();
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(LINK_BPS)));
        link.SetChannelAttribute("Delay", StringValue("4ms"));
        const NetDeviceContainer devices = link.Install(m_nodes.Get(1), m_nodes.Get(2));
        m_device = devices.Get(0);

        DovetailHelper helper(policy);
        helper.SetCpuStage(pipeline);
        helper.SetAttribute("MaxSize", StringValue("100000p"));
        helper.SetAttribute("FlowMaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, BACKLOG)));
        for (uint16_t flow = 0; flow < FUNCTIONS * SIZES; flow++)
        {
            const DovetailCost& cost = COSTS[flow / SIZES];
            std::ostringstream text;
            text << "flow" << flow << " port=" << FIRST_PORT + flow << " cpu=" << cost.perByteNs << "ns*bytes+"
                 << cost.perPacketNs << "ns";
            helper.AddClass(text.str());
        }
        m_disc = DynamicCast<DovetailQueueDisc>(helper.Install(NetDeviceContainer(m_device)).Get(0));
        m_disc->TraceConnectWithoutContext("Sojourn", MakeCallback(&Box::Sent, this));
        m_to = addresses.Assign(devices).GetAddress(1);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    /// Flows that always have packets waiting.
    void Backlogged()
    {
        m_isBacklogged = true;
        m_control = m_nodes.Get(1)->GetObject<TrafficControlLayer>();
        for (uint16_t flow = 0; flow < FUNCTIONS * SIZES; flow++)
        {
            for (uint32_t packet = 0; packet < BACKLOG; packet++)
            {
                Simulator::Schedule(NanoSeconds(1), &Box::Refill, this, flow);
            }
        }
    }

    /// Flows that are TCP connections without end.
    void Tcp()
    {
        for (uint16_t flow = 0; flow < FUNCTIONS * SIZES; flow++)
        {
            const TypeId tcp = TcpSocketFactory::GetTypeId();
            const Ptr<Socket> receiver = Socket::CreateSocket(m_nodes.Get(2), tcp);
            receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), FIRST_PORT + flow));
            receiver->Listen();
            receiver->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                        MakeCallback(&Box::Accepted, this));
            const Ptr<Socket> sender = Socket::CreateSocket(m_nodes.Get(0), tcp);
            sender->SetAttribute("SegmentSize", UintegerValue(SizeOf(flow) - HEADERS));
            sender->SetConnectCallback(MakeCallback(&Box::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
            sender->SetSendCallback(MakeCallback(&Box::Fill, this));
            sender->Bind();
            // Connections that begin at one instant would go in step.
            Simulator::Schedule(MilliSeconds(7 * flow), [sender, this, flow] {
                sender->Connect(InetSocketAddress(m_to, FIRST_PORT + flow));
            });
        }
    }

    void Report(const std::string& policy, const std::string& transport, const std::string& pipeline) const
    {
        double cpu = 0;
        double link = 0;
        double sum = 0;
        double squares = 0;
        uint64_t bytes = 0;
        for (const Got& got : m_got)
        {
            cpu += got.cpu;
            link += got.link;
            bytes += got.bytes;
            const double dominant = std::max(got.cpu, got.link);
            sum += dominant;
            squares += dominant * dominant;
        }
        const double ns = (m_until - m_from).GetNanoSeconds();
        std::cout << "policy,transport,pipeline,cpu_percent,link_percent,mbps,jain,dropped\n"
                  << policy << ',' << transport << ',' << pipeline << ',' << cpu / ns * 100 << ',' << link / ns * 100 << ','
                  << bytes * 8 * 1e3 / ns << ',' << sum * sum / (FUNCTIONS * SIZES * squares) << ','
                  << m_disc->GetStats().nTotalDroppedPackets << std::endl;
    }

  private:
    /// What a flow got.
    struct Got
    {
        double cpu{0};
        double link{0};
        uint64_t bytes{0};
    };

    void Sent(Ptr<const QueueDiscItem> item, uint32_t number, Time)
    {
        const std::string name = m_disc->GetFlowClass(number);
        if (name.empty())
        {
            return;
        }
        const uint16_t flow = std::stoi(name.substr(4));
        if (Simulator::Now() >= m_from && Simulator::Now() < m_until)
        {
            const uint32_t bytes = item->GetSize();
            m_got[flow].cpu += COSTS[flow / SIZES].Of(bytes);
            m_got[flow].link += (bytes + 2) * 8e9 / LINK_BPS;
            m_got[flow].bytes += bytes;
        }
        if (m_isBacklogged)
        {
            Simulator::ScheduleNow(&Box::Refill, this, flow);
        }
    }

    void Refill(uint16_t flow)
    {
        const Ptr<Packet> packet = Create<Packet>(SizeOf(flow) - 28);
        UdpHeader udp;
        udp.SetSourcePort(9);
        udp.SetDestinationPort(FIRST_PORT + flow);
        packet->AddHeader(udp);
        Ipv4Header ip;
        ip.SetSource("10.0.0.1");
        ip.SetDestination(m_to);
        ip.SetProtocol(17);
        ip.SetPayloadSize(packet->GetSize());
        m_control->Send(m_device, Create<Ipv4QueueDiscItem>(packet, m_device->GetBroadcast(), 0x0800, ip));
    }

    void Accepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Box::Received, this));
    }

    void Received(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
        }
    }

    void Connected(Ptr<Socket> socket)
    {
        Fill(socket, socket->GetTxAvailable());
    }

    void Fill(Ptr<Socket> socket, uint32_t available)
    {
        if (available > 0)
        {
            socket->Send(Create<Packet>(available));
        }
    }

    Time m_from;
    Time m_until;
    NodeContainer m_nodes;
    Ipv4Address m_to;
    Ptr<NetDevice> m_device;
    Ptr<DovetailQueueDisc> m_disc;
    Ptr<TrafficControlLayer> m_control;
    bool m_isBacklogged{false};
    Got m_got[FUNCTIONS * SIZES];
};

} // namespace

int
main(int argc, char* argv[])
{
    std::string policy = "drfq";
    std::string transport = "tcp";
    std::string pipeline = "no-wait";
    double seconds = 3;
    CommandLine cmd(__FILE__);
    cmd.AddValue("policy", "a policy of Dovetail", policy);
    cmd.AddValue("transport", "tcp, or backlogged", transport);
    cmd.AddValue("pipeline", "between CPU and link: no-wait, unbounded or buffer=K", pipeline);
    cmd.AddValue("seconds", "how long to measure, after a second", seconds);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_UNLESS(transport == "tcp" || transport == "backlogged", "--transport is tcp or backlogged");

    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 18));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 18));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Box box(policy, pipeline, Seconds(1), Seconds(1 + seconds));
    transport == "tcp" ? box.Tcp() : box.Backlogged();
    Simulator::Stop(Seconds(1 + seconds));
    Simulator::Run();
    box.Report(policy, transport, pipeline);
    Simulator::Destroy();
    return 0;
}
