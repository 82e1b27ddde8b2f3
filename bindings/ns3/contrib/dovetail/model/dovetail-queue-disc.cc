// SPDX-License-Identifier: MIT OR Apache-2.0

#include "dovetail-queue-disc.h"

#include "ns3/boolean.h"
#include "ns3/channel.h"
#include "ns3/enum.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <dovetail.h>
#include <memory>
#include <sstream>

static_assert(ns3::DOVETAIL_MAX_RESOURCES == DVT_MAX_RESOURCES, "as many as libdovetail knows");

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("DovetailQueueDisc");

NS_OBJECT_ENSURE_REGISTERED(DovetailQueueDisc);

namespace
{

constexpr uint32_t NO_SLOT = std::numeric_limits<uint32_t>::max();
constexpr uint32_t ASK_DEVICE = std::numeric_limits<uint32_t>::max();

/// A struct of zeros whose size is set.
template <class Struct>
Struct
Sized()
{
    Struct made = Struct();
    made.size = sizeof made;
    return made;
}

/// Ends the simulation where libdovetail says that the disc did something wrong: true for yes, false for "nothing now".
bool
Must(dvt_status status)
{
    if (status < 0)
    {
        NS_FATAL_ERROR("DovetailQueueDisc: " << dvt_last_error());
    }
    return status == DVT_OK;
}

/// The 5-tuple of a packet. What is neither IPv4 nor IPv6 is one flow.
DovetailTuple
TupleOf(Ptr<const QueueDiscItem> item)
{
    DovetailTuple tuple;
    bool hasPorts = true;
    if (const auto* v4 = dynamic_cast<const Ipv4QueueDiscItem*>(PeekPointer(item)))
    {
        const Ipv4Header& header = v4->GetHeader();
        tuple.source[10] = tuple.source[11] = tuple.destination[10] = tuple.destination[11] = 0xff;
        header.GetSource().Serialize(tuple.source.data() + 12);
        header.GetDestination().Serialize(tuple.destination.data() + 12);
        tuple.protocol = header.GetProtocol();
        hasPorts = header.GetFragmentOffset() == 0;
    }
    else if (const auto* v6 = dynamic_cast<const Ipv6QueueDiscItem*>(PeekPointer(item)))
    {
        v6->GetHeader().GetSource().GetBytes(tuple.source.data());
        v6->GetHeader().GetDestination().GetBytes(tuple.destination.data());
        tuple.protocol = v6->GetHeader().GetNextHeader();
    }
    else
    {
        return tuple;
    }
    // TCP, UDP and SCTP begin with their ports.
    const bool isKnown = tuple.protocol == 6 || tuple.protocol == 17 || tuple.protocol == 132;
    uint8_t ports[4];
    if (hasPorts && isKnown && item->GetPacket()->CopyData(ports, sizeof ports) == sizeof ports)
    {
        tuple.sourcePort = ports[0] << 8 | ports[1];
        tuple.destinationPort = ports[2] << 8 | ports[3];
    }
    return tuple;
}

/// The words between commas.
std::vector<std::string>
Names(const std::string& text)
{
    std::vector<std::string> names;
    std::stringstream stream(text);
    for (std::string name; std::getline(stream, name, ',');)
    {
        const std::size_t first = name.find_first_not_of(' ');
        names.push_back(first == std::string::npos ? "" : name.substr(first, name.find_last_not_of(' ') + 1 - first));
    }
    return names;
}

uint64_t
NowNs()
{
    return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());
}

const char*
Reason(uint32_t refusal)
{
    switch (refusal)
    {
    case DVT_FLOW_FULL:
        return DovetailQueueDisc::FLOW_FULL;
    case DVT_BUFFER_FULL:
        return DovetailQueueDisc::BUFFER_FULL;
    case DVT_TOO_MANY_FLOWS:
        return DovetailQueueDisc::NO_FLOW;
    default:
        return DovetailQueueDisc::REFUSED;
    }
}

} // namespace

TypeId
DovetailQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::DovetailQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("Dovetail")
            .AddConstructor<DovetailQueueDisc>()
            .AddAttribute("Policy",
                          "The policy and its knobs, such as drr or atfq:batch=20 ('dovetail policies' lists them). While "
                          "packets flow, the knobs of the same policy can be changed.",
                          StringValue("drr"),
                          MakeStringAccessor(&DovetailQueueDisc::SetPolicy, &DovetailQueueDisc::GetPolicy),
                          MakeStringChecker())
            .AddAttribute("MaxSize",
                          "The most packets or bytes that may wait for the first resource.",
                          QueueSizeValue(QueueSize("1000p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker())
            .AddAttribute("FlowMaxSize",
                          "The most packets or bytes that may wait of one flow; 0p: no limit.",
                          QueueSizeValue(QueueSize("0p")),
                          MakeQueueSizeAccessor(&DovetailQueueDisc::m_flowMaxSize),
                          MakeQueueSizeChecker())
            .AddAttribute("OnFull",
                          "Who loses a packet when a limit is reached, where the policy has no rule of its own.",
                          EnumValue(DovetailQueueDisc::TAIL),
                          MakeEnumAccessor<DovetailQueueDisc::OnFull>(&DovetailQueueDisc::m_onFull),
                          MakeEnumChecker(DovetailQueueDisc::TAIL,
                                          "Tail",
                                          DovetailQueueDisc::HEAD,
                                          "Head",
                                          DovetailQueueDisc::LONGEST,
                                          "Longest"))
            .AddAttribute("Resources",
                          "The names of the resources in the order in which packets cross them, the device last: 'link', or "
                          "'cpu,link' for a CPU before the device.",
                          StringValue("link"),
                          MakeStringAccessor(&DovetailQueueDisc::m_resourceNames),
                          MakeStringChecker())
            .AddAttribute("Pipeline",
                          "What lies between resources: no-wait, unbounded or buffer=K.",
                          StringValue("no-wait"),
                          MakeStringAccessor(&DovetailQueueDisc::m_pipelineMode),
                          MakeStringChecker())
            .AddAttribute("Classes",
                          "What packets cost, by port or prefix, separated by semicolons: "
                          "'ipsec port=443 cpu=15ns*bytes+84.5us; lan prefix=10.1.0.0/16 cpu=3us weight=2; rest cpu=1us'.",
                          StringValue(""),
                          MakeStringAccessor(&DovetailQueueDisc::m_classText),
                          MakeStringChecker())
            .AddAttribute("LinkRate",
                          "The device's rate; 0bps: what the device or its channel states as DataRate.",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&DovetailQueueDisc::m_linkRate),
                          MakeDataRateChecker())
            .AddAttribute("LinkOverhead",
                          "The bytes that the device adds to a packet; 4294967295: as is known of the device's type.",
                          UintegerValue(ASK_DEVICE),
                          MakeUintegerAccessor(&DovetailQueueDisc::m_linkOverhead),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("JustInTime",
                          "Whether a packet goes to the device only when the device has sent the one before. Otherwise "
                          "packets go whenever the device's queue takes them, and there can be no stage before the device.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&DovetailQueueDisc::m_justInTime),
                          MakeBooleanChecker())
            .AddAttribute("FlowTimeout",
                          "A flow may be forgotten so long after its last packet.",
                          TimeValue(Seconds(64)),
                          MakeTimeAccessor(&DovetailQueueDisc::m_flowTimeout),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("Flows",
                          "The most flows that are told apart.",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&DovetailQueueDisc::m_mostFlows),
                          MakeUintegerChecker<uint32_t>(1, 1 << 26))
            .AddAttribute("ShareInterval",
                          "The interval over which the trace DominantShare is taken.",
                          TimeValue(Seconds(1)),
                          MakeTimeAccessor(&DovetailQueueDisc::m_shareInterval),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("Checked",
                          "Whether libdovetail examines every packet, which takes time: for development.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&DovetailQueueDisc::m_checked),
                          MakeBooleanChecker())
            .AddTraceSource("Sojourn",
                            "A packet goes to the device: the packet, its flow and the time since it arrived.",
                            MakeTraceSourceAccessor(&DovetailQueueDisc::m_sojournTrace),
                            "ns3::DovetailQueueDisc::SojournTracedCallback")
            .AddTraceSource("DominantShare",
                            "What a flow got in an interval of the resource on which its packets took the most time.",
                            MakeTraceSourceAccessor(&DovetailQueueDisc::m_shareTrace),
                            "ns3::DovetailQueueDisc::ShareTracedCallback");
    return tid;
}

// A packet that waits may have any place, and a limit may be in packets or in bytes.
DovetailQueueDisc::DovetailQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES),
      m_freeSlot(NO_SLOT)
{
    NS_LOG_FUNCTION(this);
}

DovetailQueueDisc::~DovetailQueueDisc()
{
    NS_LOG_FUNCTION(this);
    dvt_flows_free(m_flows);
    dvt_scheduler_free(m_scheduler);
}

void
DovetailQueueDisc::DoDispose()
{
    NS_LOG_FUNCTION(this);
    m_timer.Cancel();
    m_ask.Cancel();
    m_leaving.clear();
    m_slots.clear();
    m_queue = nullptr;
    m_cost = CostCallback();
    QueueDisc::DoDispose();
}

void
DovetailQueueDisc::SetCostCallback(CostCallback callback)
{
    m_cost = callback;
}

void
DovetailQueueDisc::SetPolicy(std::string policy)
{
    if (m_scheduler)
    {
        Must(dvt_retune(m_scheduler, policy.c_str(), NowNs()));
        m_held = false;
        if (m_justInTime)
        {
            Arm(NowNs());
        }
    }
    m_policy = policy;
}

std::string
DovetailQueueDisc::GetPolicy() const
{
    return m_policy;
}

std::vector<std::string>
DovetailQueueDisc::GetPolicies()
{
    std::vector<std::string> names;
    auto policy = Sized<dvt_policy>();
    for (uint32_t at = 0; Must(dvt_policy_at(DVT_PACKETS, at, &policy)); at++)
    {
        names.emplace_back(policy.name);
    }
    return names;
}

std::map<std::string, double>
DovetailQueueDisc::GetFigures() const
{
    std::map<std::string, double> figures;
    auto figure = Sized<dvt_figure>();
    for (uint32_t at = 0; m_scheduler && Must(dvt_figure_at(m_scheduler, at, &figure)); at++)
    {
        figures[figure.name] = figure.value;
    }
    return figures;
}

uint32_t
DovetailQueueDisc::GetNFlows() const
{
    auto counts = Sized<dvt_flow_counts>();
    return m_flows && Must(dvt_flows_counts(m_flows, &counts)) ? counts.flows : 0;
}

bool
DovetailQueueDisc::GetFlowTuple(uint32_t flow, DovetailTuple& tuple) const
{
    auto found = Sized<dvt_five_tuple>();
    if (!m_flows || !Must(dvt_flows_tuple(m_flows, flow, &found)))
    {
        return false;
    }
    std::copy(std::begin(found.source), std::end(found.source), tuple.source.begin());
    std::copy(std::begin(found.destination), std::end(found.destination), tuple.destination.begin());
    tuple.sourcePort = found.source_port;
    tuple.destinationPort = found.destination_port;
    tuple.protocol = found.protocol;
    return true;
}

std::string
DovetailQueueDisc::GetFlowClass(uint32_t flow) const
{
    return flow < m_classOf.size() ? m_classes.At(m_classOf[flow]).name : "";
}

void
DovetailQueueDisc::DescribeDevice(DataRate& rate, uint32_t& overhead, Time& gap) const
{
    const Ptr<NetDeviceQueueInterface> queues = GetNetDeviceQueueInterface();
    const Ptr<NetDevice> device = queues ? queues->GetObject<NetDevice>() : nullptr;
    rate = m_linkRate;
    overhead = m_linkOverhead == ASK_DEVICE ? 0 : m_linkOverhead;
    gap = Time(0);
    if (!device)
    {
        return;
    }
    DataRateValue stated(DataRate(0));
    const Ptr<Channel> channel = device->GetChannel();
    if (rate.GetBitRate() == 0 && (device->GetAttributeFailSafe("DataRate", stated) ||
                                   (channel && channel->GetAttributeFailSafe("DataRate", stated))))
    {
        rate = stated.Get();
    }
    const std::string type = device->GetInstanceTypeId().GetName();
    if (m_linkOverhead == ASK_DEVICE && type == "ns3::PointToPointNetDevice")
    {
        overhead = 2; // PPP
    }
    else if (m_linkOverhead == ASK_DEVICE && type == "ns3::CsmaNetDevice")
    {
        overhead = 18; // Ethernet's header and trailer
    }
    TimeValue between;
    if (device->GetAttributeFailSafe("InterframeGap", between))
    {
        gap = between.Get();
    }
}

std::string
DovetailQueueDisc::Build(std::vector<std::string>& stages, DovetailClasses& classes, dvt_scheduler*& scheduler) const
{
    if (dvt_abi_version() != DVT_ABI_VERSION)
    {
        return "this module was built for another version of libdovetail than " + std::string(dvt_version());
    }
    stages = Names(m_resourceNames);
    for (const std::string& name : stages)
    {
        if (name.empty() || name == "port" || name == "prefix" || name == "weight")
        {
            return "Resources '" + m_resourceNames + "': '" + name + "' cannot be the name of a resource";
        }
        if (std::count(stages.begin(), stages.end(), name) > 1)
        {
            return "Resources '" + m_resourceNames + "': there are two of the name '" + name + "'";
        }
    }
    const std::size_t resources = stages.size();
    if (resources == 0 || resources > DOVETAIL_MAX_RESOURCES)
    {
        return "Resources names " + std::to_string(resources) + " resources, and there are 1 to " +
               std::to_string(DOVETAIL_MAX_RESOURCES) + ", the device last";
    }
    if (!m_justInTime && resources > 1)
    {
        return "Resources '" + m_resourceNames + "' has a stage before the device, which needs JustInTime";
    }
    DovetailPipeline pipeline;
    if (!pipeline.SetMode(m_pipelineMode))
    {
        return "Pipeline '" + m_pipelineMode + "' is none of no-wait, unbounded and buffer=K";
    }
    stages.pop_back();
    const std::string wrong = classes.Parse(m_classText, stages);
    if (!wrong.empty())
    {
        return wrong;
    }
    DataRate rate;
    uint32_t overhead;
    Time gap;
    DescribeDevice(rate, overhead, gap);
    if (rate.GetBitRate() == 0)
    {
        return "the device states no DataRate: set LinkRate";
    }
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0)
    {
        return "it takes neither child queue discs nor packet filters: its classes are the attribute Classes";
    }

    std::vector<std::string> costs;
    std::vector<dvt_program> programs;
    for (std::size_t at = 0; at + 1 < classes.Count(); at++)
    {
        std::ostringstream cost;
        cost.precision(17);
        cost << std::fixed << classes.At(at).costs[0].perByteNs << "ns*bytes + " << classes.At(at).costs[0].perPacketNs
             << "ns";
        costs.push_back(cost.str());
    }
    for (std::size_t at = 0; at < costs.size(); at++)
    {
        auto program = Sized<dvt_program>();
        program.name = classes.At(at).name.c_str();
        program.cost = resources > 1 ? costs[at].c_str() : nullptr;
        program.processing = classes.At(at).costs[0].perByteNs > 0 ? DVT_PAYLOAD : DVT_HEADER;
        program.expansion = 1;
        programs.push_back(program);
    }
    auto setup = Sized<dvt_setup>();
    setup.resources = static_cast<uint32_t>(resources);
    setup.flags = m_checked ? DVT_CHECKED : 0;
    setup.on_full = m_onFull == TAIL ? DVT_TAIL : m_onFull == HEAD ? DVT_HEAD : DVT_LONGEST;
    setup.flows = m_mostFlows;
    setup.program_count = static_cast<uint32_t>(programs.size());
    setup.programs = programs.empty() ? nullptr : programs.data();
    const auto limit = [](const QueueSize& most, uint32_t& packets, uint64_t& bytes) {
        most.GetUnit() == QueueSizeUnit::PACKETS ? packets = most.GetValue() : bytes = most.GetValue();
    };
    limit(GetMaxSize(), setup.packets, setup.bytes);
    limit(m_flowMaxSize, setup.flow_packets, setup.flow_bytes);
    if (dvt_scheduler_new(m_policy.c_str(), &setup, &scheduler) < 0)
    {
        return "Policy '" + m_policy + "': " + dvt_last_error();
    }
    // A scheduler of its own before later resources would need to be asked there, too.
    auto backlog = Sized<dvt_backlog>();
    const bool ordersLater = resources > 1 && dvt_backlog_before(scheduler, 1, &backlog) == DVT_OK;
    if (ordersLater && m_pipelineMode != "no-wait")
    {
        dvt_scheduler_free(scheduler);
        scheduler = nullptr;
        return "Policy '" + m_policy + "' orders packets before later resources, too, which this disc does not let it do: " +
               "Pipeline has to be no-wait";
    }
    return "";
}

std::string
DovetailQueueDisc::Problem() const
{
    std::vector<std::string> stages;
    DovetailClasses classes;
    dvt_scheduler* scheduler = nullptr;
    const std::string wrong = Build(stages, classes, scheduler);
    dvt_scheduler_free(scheduler);
    return wrong;
}

bool
DovetailQueueDisc::CheckConfig()
{
    NS_LOG_FUNCTION(this);
    std::vector<std::string> stages;
    const std::string wrong = Build(stages, m_classes, m_scheduler);
    if (!wrong.empty())
    {
        NS_FATAL_ERROR("DovetailQueueDisc: " << wrong);
    }
    m_resources = stages.size() + 1;
    return true;
}

void
DovetailQueueDisc::InitializeParams()
{
    NS_LOG_FUNCTION(this);
    auto setup = Sized<dvt_flows_setup>();
    setup.most = m_mostFlows;
    setup.flags = m_checked ? DVT_CHECKED : 0;
    setup.timeout_ns = m_flowTimeout.GetNanoSeconds();
    Must(dvt_flows_new(&setup, &m_flows));

    m_queue = CreateObject<DovetailInternalQueue>();
    AddInternalQueue(m_queue);

    Time gap;
    DescribeDevice(m_rate, m_overhead, gap);
    m_gap = gap.GetNanoSeconds();
    m_pipeline.SetMode(m_pipelineMode);
    m_pipeline.Reset(m_resources);

    auto learnt = Sized<dvt_learnt>();
    m_learns = dvt_learnt_at(m_scheduler, 0, &learnt) != DVT_ERROR_UNSUPPORTED;

    uint32_t interest = 0;
    Must(dvt_interest(m_scheduler, &interest));
    // At one instant what ends comes before what starts, later resources before earlier, as packets make room.
    for (uint32_t resource = m_resources; resource-- > 0;)
    {
        for (const uint32_t stage : {DVT_FINISHED, DVT_STARTED})
        {
            if (dvt_wants(interest, stage, resource))
            {
                m_streams.push_back({stage, resource, {}});
            }
        }
    }
}

uint64_t
DovetailQueueDisc::LinkTime(uint32_t bytes)
{
    if (bytes >= m_linkTimes.size())
    {
        m_linkTimes.resize(bytes + 1, 0);
    }
    uint64_t& time = m_linkTimes[bytes];
    if (time == 0)
    {
        time = m_rate.CalculateBytesTxTime(bytes + m_overhead).GetNanoSeconds() + m_gap;
    }
    return time;
}

DovetailTimes
DovetailQueueDisc::Demand(Ptr<const QueueDiscItem> item, const DovetailClass& of)
{
    const uint32_t bytes = item->GetSize();
    DovetailTimes demand{};
    for (std::size_t stage = 0; stage + 1 < m_resources; stage++)
    {
        demand[stage] = of.costs[stage].Of(bytes);
    }
    const uint64_t link = LinkTime(bytes);
    demand[m_resources - 1] = link;
    if (!m_cost.IsNull())
    {
        m_cost(item, demand);
        demand[m_resources - 1] = link;
    }
    return demand;
}

bool
DovetailQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    NS_LOG_FUNCTION(this << item);
    const uint64_t now = NowNs();
    Tell(now);

    const DovetailTuple from = TupleOf(item);
    auto tuple = Sized<dvt_five_tuple>();
    std::copy(from.source.begin(), from.source.end(), tuple.source);
    std::copy(from.destination.begin(), from.destination.end(), tuple.destination);
    tuple.source_port = from.sourcePort;
    tuple.destination_port = from.destinationPort;
    tuple.protocol = from.protocol;
    auto found = Sized<dvt_lookup>();
    if (!Must(dvt_flows_lookup(m_flows, m_scheduler, &tuple, now, &found)))
    {
        DropBeforeEnqueue(item, NO_FLOW);
        return false;
    }
    if (found.is_new)
    {
        if (found.flow >= m_classOf.size())
        {
            m_classOf.resize(found.flow + 1);
        }
        m_classOf[found.flow] = m_classes.Of(from);
        Must(dvt_set_weight(m_scheduler, found.flow, m_classes.At(m_classOf[found.flow]).weight));
        // What is of no class is of no program.
        if (m_learns && m_classOf[found.flow] + 1 < m_classes.Count())
        {
            Must(dvt_set_program(m_scheduler, found.flow, m_classOf[found.flow]));
        }
    }

    uint32_t number = m_freeSlot;
    if (number == NO_SLOT)
    {
        number = m_slots.size();
        m_slots.emplace_back();
        m_slots[number].nextFree = NO_SLOT;
    }
    Slot& slot = m_slots[number];
    slot.flow = found.flow;
    slot.demand = Demand(item, m_classes.At(m_classOf[found.flow]));

    auto packet = Sized<dvt_packet>();
    packet.flow = found.flow;
    packet.bytes = item->GetSize();
    packet.resources = m_resources;
    packet.arrival_ns = now;
    packet.handle = number;
    std::copy_n(slot.demand.begin(), m_resources, packet.demand_ns);
    if (m_learns)
    {
        // What it costs on the first resource is known when it has been there.
        packet.demand_ns[0] = 0;
    }
    auto admission = Sized<dvt_admission>();
    Must(dvt_enqueue(m_scheduler, &packet, now, &admission));
    const bool isQueued = admission.refused == DVT_QUEUED;
    if (isQueued)
    {
        m_freeSlot = slot.nextFree;
        slot.place = m_queue->Put(item);
        m_waiting++;
        m_held = false;
    }
    else
    {
        m_freeSlot = number;
        DropBeforeEnqueue(item, Reason(admission.refused));
    }
    auto lost = Sized<dvt_packet>();
    while (admission.evicted && Must(dvt_poll_evicted(m_scheduler, &lost)))
    {
        m_waiting--;
        DropAfterDequeue(Take(lost.handle), EVICTED);
    }
    if (m_justInTime)
    {
        Arm(now);
    }
    return isQueued;
}

Ptr<QueueDiscItem>
DovetailQueueDisc::DoDequeue()
{
    NS_LOG_FUNCTION(this);
    const uint64_t now = NowNs();
    if (!m_justInTime)
    {
        Tell(now);
        m_held = false;
        if (m_waiting == 0 || !Release(now))
        {
            Arm(now);
            return nullptr;
        }
    }
    else if (m_leaving.empty() || m_leaving.front().at > now)
    {
        return nullptr;
    }
    const Leaving leaving = m_leaving.front();
    m_leaving.pop_front();
    const uint32_t flow = m_slots[leaving.slot].flow;
    Ptr<QueueDiscItem> item = Take(leaving.slot);
    m_sojournTrace(item, flow, Simulator::Now() - item->GetTimeStamp());
    if (m_justInTime)
    {
        // The next may be due at another time than the disc is to wake up, or have waited for the device to take this one.
        Arm(now);
    }
    return item;
}

Ptr<QueueDiscItem>
DovetailQueueDisc::Take(uint32_t number)
{
    Slot& slot = m_slots[number];
    slot.nextFree = m_freeSlot;
    m_freeSlot = number;
    return m_queue->Take(slot.place);
}

bool
DovetailQueueDisc::Release(uint64_t now)
{
    auto next = Sized<dvt_dispatch>();
    if (!Must(dvt_dequeue(m_scheduler, now, &next)))
    {
        m_held = true;
        return false;
    }
    m_waiting--;
    const uint32_t number = next.handle;
    const DovetailTimes& demand = m_slots[number].demand;
    const DovetailPipeline::Passage& passage = m_pipeline.Admit(now, demand);
    m_leaving.push_back({number, passage.start[m_resources - 1]});
    Expect(next, passage);
    if (!m_shareTrace.IsEmpty())
    {
        CountShare(next.flow, demand, now);
    }
    return true;
}

void
DovetailQueueDisc::Expect(const dvt_dispatch& released, const DovetailPipeline::Passage& passage)
{
    for (Stream& stream : m_streams)
    {
        const uint64_t start = passage.start[stream.resource];
        const uint64_t end = passage.end[stream.resource];
        const bool isStart = stream.stage == DVT_STARTED;
        const uint64_t at = isStart ? start : end;
        stream.due.push_back({at, released.ticket, isStart ? 0 : end - start, released.flow});
        m_nextDue = std::min(m_nextDue, at);
    }
}

bool
DovetailQueueDisc::Tell(uint64_t now)
{
    bool told = false;
    while (m_nextDue <= now)
    {
        Stream* first = nullptr;
        for (Stream& stream : m_streams)
        {
            if (!stream.due.empty() && (!first || stream.due.front().at < first->due.front().at))
            {
                first = &stream;
            }
        }
        if (!first)
        {
            m_nextDue = NEVER;
            break;
        }
        const Due due = first->due.front();
        m_nextDue = due.at;
        if (due.at > now)
        {
            break;
        }
        first->due.pop_front();
        auto event = Sized<dvt_event>();
        event.flow = due.flow;
        event.resource = first->resource;
        event.stage = first->stage;
        event.ticket = due.ticket;
        event.took_ns = due.took;
        Must(dvt_feedback(m_scheduler, &event, due.at));
        told = true;
    }
    m_held = m_held && !told;
    return told;
}

bool
DovetailQueueDisc::IsOverdue(uint64_t now) const
{
    return !m_leaving.empty() && m_leaving.front().at < now;
}

void
DovetailQueueDisc::Arm(uint64_t now)
{
    uint64_t next = NEVER;
    if (!m_leaving.empty() && m_leaving.front().at > now)
    {
        next = m_leaving.front().at;
    }
    if (m_waiting > 0 && !IsOverdue(now))
    {
        const uint64_t ready = m_justInTime ? std::max(m_pipeline.Ready(), now) : now;
        uint64_t again = NEVER;
        if (!m_held)
        {
            next = std::min(next, ready);
        }
        else if (Must(dvt_poll_at(m_scheduler, &again)))
        {
            // A policy that says "now" again would never let time pass.
            next = std::min(next, std::max({again, now + 1, ready}));
        }
        if (m_held && m_nextDue > now)
        {
            next = std::min(next, m_nextDue);
        }
    }
    if (next == now)
    {
        // All that arrives at this instant is to be in when the scheduler is asked.
        if (!m_ask.IsPending())
        {
            m_ask = Simulator::ScheduleNow(&DovetailQueueDisc::Ask, this);
        }
        return;
    }
    if (m_timer.IsPending() && m_timerAt != next)
    {
        m_timer.Cancel();
    }
    if (next != NEVER && !m_timer.IsPending())
    {
        m_timerAt = next;
        m_timer = Simulator::Schedule(NanoSeconds(next - now), &DovetailQueueDisc::Wake, this);
    }
}

void
DovetailQueueDisc::Wake()
{
    NS_LOG_FUNCTION(this);
    const uint64_t now = NowNs();
    const bool told = Tell(now);
    uint64_t again = NEVER;
    if (m_held && !told && Must(dvt_poll_at(m_scheduler, &again)) && again <= now)
    {
        m_held = false;
    }
    const bool isDue = !m_leaving.empty() && m_leaving.front().at <= now;
    if (isDue || !m_justInTime)
    {
        Run();
    }
    if (m_justInTime)
    {
        Arm(now);
    }
}

void
DovetailQueueDisc::Ask()
{
    NS_LOG_FUNCTION(this);
    const uint64_t now = NowNs();
    Tell(now);
    while (m_waiting > 0 && !m_held && m_pipeline.Ready() <= now && !IsOverdue(now) && Release(now))
    {
        Tell(now);
        if (m_leaving.front().at <= now)
        {
            Run();
        }
    }
    Arm(now);
}

void
DovetailQueueDisc::CountShare(uint32_t flow, const DovetailTimes& demand, uint64_t now)
{
    if (now >= m_intervalEnds)
    {
        const double interval = m_shareInterval.GetNanoSeconds();
        for (const uint32_t user : m_users)
        {
            DovetailTimes& used = m_used[user];
            const auto most = std::max_element(used.begin(), used.begin() + m_resources);
            m_shareTrace(user, most - used.begin(), *most / interval);
            used.fill(0);
        }
        m_users.clear();
        const uint64_t length = m_shareInterval.GetNanoSeconds();
        m_intervalEnds = (now / length + 1) * length;
    }
    if (flow >= m_used.size())
    {
        m_used.resize(flow + 1);
    }
    DovetailTimes& used = m_used[flow];
    if (std::all_of(used.begin(), used.end(), [](uint64_t time) { return time == 0; }))
    {
        m_users.push_back(flow);
    }
    for (std::size_t resource = 0; resource < m_resources; resource++)
    {
        used[resource] += demand[resource];
    }
}

} // namespace ns3
