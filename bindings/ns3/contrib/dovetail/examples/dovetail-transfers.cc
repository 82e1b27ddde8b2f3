// SPDX-License-Identifier: MIT OR Apache-2.0

// The network of the DRR-SFF paper: transfers whose sizes have a heavy tail cross a link of 3 Mbit/s and 30 ms.
//
// Sun, Shi, Hu & Liu, "DRR-SFF: a practical scheduling algorithm to improve the performance of short flows", ICNS 2007,
// section 4.1, with a buffer of 50 packets. The network is that of Dovetail's scenario drr-sff: five servers, five clients,
// TCP with NewReno, SACK and a first window of ten segments, a window of 256 kB, retransmission timeouts of 200 ms at
// least. Sizes are Pareto, 1 to 10,000 segments of 1,000 bytes; arrivals offer the link a load of 0.8.
//
//     dovetail-transfers --disc=fq-codel --seed=3

#include "ns3/core-module.h"
#include "ns3/dovetail-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <iostream>
#include <map>
#include <random>

using namespace ns3;

namespace
{

constexpr uint32_t SIDE = 5;
constexpr uint32_t UNIT = 1000;
constexpr double LINK_BPS = 3e6;

/// A TCP connection that carries a given amount and ends.
class Transfer
{
  public:
    Transfer(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, uint64_t bytes)
        : m_from(from),
          m_to(to),
          m_address(address),
          m_port(port),
          m_bytes(bytes)
    {
    }

    void Begin()
    {
        m_begun = Simulator::Now();
        const TypeId tcp = TcpSocketFactory::GetTypeId();
        m_listening = Socket::CreateSocket(m_to, tcp);
        m_listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_port));
        m_listening->Listen();
        m_listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                       MakeCallback(&Transfer::Accepted, this));
        m_sending = Socket::CreateSocket(m_from, tcp);
        m_sending->SetConnectCallback(MakeCallback(&Transfer::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        m_sending->SetSendCallback(MakeCallback(&Transfer::Fill, this));
        m_sending->Bind();
        m_sending->Connect(InetSocketAddress(m_address, m_port));
    }

    uint64_t Bytes() const
    {
        return m_bytes;
    }

    /// From the first packet of the handshake to the last byte; less than 0 if that has not come.
    double Seconds() const
    {
        return m_received < m_bytes ? -1 : (m_ended - m_begun).GetSeconds();
    }

  private:
    void Accepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Transfer::Received, this));
        m_receiving = socket;
    }

    void Connected(Ptr<Socket> socket)
    {
        Fill(socket, socket->GetTxAvailable());
    }

    void Fill(Ptr<Socket> socket, uint32_t)
    {
        while (m_written < m_bytes && socket->GetTxAvailable() > 0)
        {
            const uint32_t size = std::min<uint64_t>(m_bytes - m_written, socket->GetTxAvailable());
            const int sent = socket->Send(Create<Packet>(size));
            if (sent <= 0)
            {
                return;
            }
            m_written += sent;
        }
        if (m_written == m_bytes && !m_closed)
        {
            m_closed = true;
            socket->Close();
        }
    }

    void Received(Ptr<Socket> socket)
    {
        while (const Ptr<Packet> packet = socket->Recv())
        {
            m_received += packet->GetSize();
        }
        if (m_received >= m_bytes && m_ended.IsZero())
        {
            m_ended = Simulator::Now();
            m_listening->Close();
            left--;
            if (left == 0)
            {
                Simulator::Stop();
            }
        }
    }

    Ptr<Node> m_from;
    Ptr<Node> m_to;
    Ipv4Address m_address;
    uint16_t m_port;
    uint64_t m_bytes;
    uint64_t m_written{0};
    uint64_t m_received{0};
    bool m_closed{false};
    Time m_begun;
    Time m_ended;
    Ptr<Socket> m_listening;
    Ptr<Socket> m_sending;
    Ptr<Socket> m_receiving;

  public:
    static uint32_t left; //!< transfers that have not ended
};

uint32_t Transfer::left = 0;

/// The mean time of the transfers of at least and less than so many bytes.
double
Mean(const std::vector<std::unique_ptr<Transfer>>& transfers, uint64_t least, uint64_t below)
{
    double sum = 0;
    uint32_t count = 0;
    for (const auto& transfer : transfers)
    {
        if (transfer->Bytes() >= least && transfer->Bytes() < below)
        {
            sum += transfer->Seconds();
            count++;
        }
    }
    return sum / count;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string disc = "dovetail:drr-sff";
    uint32_t size = 50;
    uint32_t count = 4000;
    uint64_t seed = 1;
    CommandLine cmd(__FILE__);
    cmd.AddValue("disc", "fifo, fq-codel, fq-cobalt or dovetail:POLICY", disc);
    cmd.AddValue("size", "packets that may wait before the link", size);
    cmd.AddValue("transfers", "how many", count);
    cmd.AddValue("seed", "of sizes and arrivals", seed);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(UNIT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(256000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(256000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    RngSeedManager::SetRun(seed);

    NodeContainer servers(SIDE);
    NodeContainer clients(SIDE);
    NodeContainer routers(2);
    InternetStackHelper stack;
    stack.Install(servers);
    stack.Install(clients);
    stack.Install(routers);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    access.SetChannelAttribute("Delay", StringValue("10ms"));
    std::vector<Ipv4Address> to;
    for (uint32_t at = 0; at < SIDE; at++)
    {
        addresses.Assign(access.Install(servers.Get(at), routers.Get(0)));
        addresses.NewNetwork();
        to.push_back(addresses.Assign(access.Install(clients.Get(at), routers.Get(1))).GetAddress(0));
        addresses.NewNetwork();
    }
    PointToPointHelper shared;
    shared.SetDeviceAttribute("DataRate", DataRateValue(DataRate(LINK_BPS)));
    shared.SetChannelAttribute("Delay", StringValue("30ms"));
    shared.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer link = shared.Install(routers);

    TrafficControlHelper control;
    const std::string ours = "dovetail:";
    const auto packets = [](uint32_t most) { return QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, most)); };
    if (disc.compare(0, ours.size(), ours) == 0)
    {
        control.SetRootQueueDisc("ns3::DovetailQueueDisc", "Policy", StringValue(disc.substr(ours.size())), "MaxSize", packets(size));
    }
    else
    {
        const std::map<std::string, std::string> natives{{"fifo", "ns3::FifoQueueDisc"},
                                                         {"fq-codel", "ns3::FqCoDelQueueDisc"},
                                                         {"fq-cobalt", "ns3::FqCobaltQueueDisc"}};
        NS_ABORT_MSG_UNLESS(natives.count(disc), "--disc is fifo, fq-codel, fq-cobalt or dovetail:POLICY");
        // One packet waits in the device's queue.
        control.SetRootQueueDisc(natives.at(disc), "MaxSize", packets(size - 1));
    }
    const Ptr<QueueDisc> watched = control.Install(link.Get(0)).Get(0);
    addresses.Assign(link);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // As the C++ library draws, so that every disc meets the same transfers.
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
    const double shape = 0.9252;
    const double least = 1;
    const double most = 10000;
    std::vector<std::unique_ptr<Transfer>> transfers;
    double wire = 0;
    for (uint32_t at = 0; at < count; at++)
    {
        // A Pareto distribution that is cut off at both ends.
        const double tail = std::pow(least / most, shape);
        const uint64_t units = std::floor(least / std::pow(1 - uniform() * (1 - tail), 1 / shape));
        const uint32_t from = random() % SIDE;
        const uint32_t client = random() % SIDE;
        wire += units * (UNIT + 40.0);
        transfers.push_back(
            std::make_unique<Transfer>(servers.Get(from), clients.Get(client), to[client], 1024 + at, units * UNIT));
    }
    const double gap = wire * 8 / (0.8 * LINK_BPS * count);
    double now = 0;
    Transfer::left = count;
    for (const auto& transfer : transfers)
    {
        Simulator::Schedule(Seconds(now), &Transfer::Begin, transfer.get());
        now -= gap * std::log(1 - uniform());
    }
    Simulator::Stop(Seconds(now + 10000));
    Simulator::Run();
    const QueueDisc::Stats stats = watched->GetStats();
    constexpr uint64_t NONE = std::numeric_limits<uint64_t>::max();
    std::cout << "disc,seed,short_s,middle_s,long_s,sent,dropped,unfinished\n"
              << disc << ',' << seed << ',' << Mean(transfers, 0, 20000) << ',' << Mean(transfers, 20000, 1000001) << ','
              << Mean(transfers, 1000001, NONE) << ',' << stats.nTotalSentPackets << ',' << stats.nTotalDroppedPackets << ','
              << Transfer::left << std::endl;
    Simulator::Destroy();
    return 0;
}
