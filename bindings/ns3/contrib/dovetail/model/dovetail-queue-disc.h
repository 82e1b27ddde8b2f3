// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DOVETAIL_QUEUE_DISC_H
#define DOVETAIL_QUEUE_DISC_H

#include "dovetail-classes.h"
#include "dovetail-internal-queue.h"
#include "dovetail-pipeline.h"

#include "ns3/callback.h"
#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"

#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

// The handles of libdovetail's C interface; dovetail.h is only needed to build this module.
struct dvt_scheduler;
struct dvt_flows;
struct dvt_dispatch;
struct dvt_setup;
struct dvt_program;

namespace ns3
{

/**
 * @defgroup dovetail Dovetail
 * Fair and efficient scheduling of packets that need more than one resource.
 */

/**
 * @ingroup dovetail
 *
 * A queue disc whose order is that of one of Dovetail's schedulers, behind libdovetail.
 *
 * The items lie in an internal queue, and only their numbers go to the scheduler. The disc owns time: it tells the scheduler
 * of arrivals, asks it for the next packet when the first resource is free, and schedules Run for the instant that the
 * scheduler names where it holds packets back.
 *
 * The last resource is the device. Others, such as a CPU, are stages in front of it, within the disc: a packet takes its
 * class's cost on each before it goes to the device. What lies between them is the attribute Pipeline.
 *
 * ns-3's devices have queues of their own, in which packets can no longer be reordered. With JustInTime the disc therefore
 * hands over a packet only when the device has sent the one before.
 */
class DovetailQueueDisc : public QueueDisc
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();

    DovetailQueueDisc();
    ~DovetailQueueDisc() override;

    /// Who loses a packet when a limit is reached.
    enum OnFull
    {
        TAIL,   //!< the arriving packet
        HEAD,   //!< the oldest of its flow
        LONGEST //!< the youngest of the flow with the most bytes, when the disc is full
    };

    // Reasons for dropping packets
    static constexpr const char* FLOW_FULL = "Its flow's queue is full";  //!< FlowMaxSize is reached
    static constexpr const char* BUFFER_FULL = "The queue disc is full";  //!< MaxSize is reached
    static constexpr const char* NO_FLOW = "Too many flows";              //!< Flows is reached
    static constexpr const char* REFUSED = "Refused by the scheduler";    //!< for another reason
    static constexpr const char* EVICTED = "Made room for another packet"; //!< it was queued, and others had more right

    /**
     * Changes what a packet takes on each resource, in nanoseconds. It comes with the costs of the packet's class, and the
     * time on the device, which is not the callback's to change.
     */
    typedef Callback<void, Ptr<const QueueDiscItem>, DovetailTimes&> CostCallback;

    /**
     * Sets costs that classes cannot express.
     * @param callback asked for every packet that arrives
     */
    void SetCostCallback(CostCallback callback);

    /**
     * Sets the policy. Once packets flow, only the knobs of the same policy can be changed.
     * @param policy a policy string such as drr:quantum=3000; `dovetail policies` lists them
     */
    void SetPolicy(std::string policy);

    /// @return the policy string
    std::string GetPolicy() const;

    /**
     * @return what is wrong with the attributes, as a sentence; empty if nothing is. A disc in which something is wrong ends
     * the simulation with this sentence when it is initialised.
     */
    std::string Problem() const;

    /// @return the names of all policies
    static std::vector<std::string> GetPolicies();

    /// @return the policy's own figures
    std::map<std::string, double> GetFigures() const;

    /// @return how many flows are known
    uint32_t GetNFlows() const;

    /**
     * @param flow a flow's number, from a trace
     * @param tuple where to write its 5-tuple
     * @return whether there is such a flow
     */
    bool GetFlowTuple(uint32_t flow, DovetailTuple& tuple) const;

    /**
     * @param flow a flow's number, from a trace
     * @return the name of its class; empty if it is of none
     */
    std::string GetFlowClass(uint32_t flow) const;

    /**
     * TracedCallback signature for sojourn times.
     *
     * @param [in] item the packet, which goes to the device now
     * @param [in] flow its flow's number
     * @param [in] sojourn the time since it arrived
     */
    typedef void (*SojournTracedCallback)(Ptr<const QueueDiscItem> item, uint32_t flow, Time sojourn);

    /**
     * TracedCallback signature for dominant shares.
     *
     * @param [in] flow the flow's number
     * @param [in] resource the resource on which its packets took the most time, from 0
     * @param [in] share the part of the interval that they took there
     */
    typedef void (*ShareTracedCallback)(uint32_t flow, uint32_t resource, double share);

  protected:
    void DoDispose() override;

  private:
    static constexpr uint64_t NEVER = std::numeric_limits<uint64_t>::max(); //!< no instant

    /// A packet in the disc.
    struct Slot
    {
        DovetailInternalQueue::Place place; //!< where the item is
        DovetailTimes demand;               //!< what it takes
        uint32_t flow;                      //!< its flow
        uint32_t nextFree;                  //!< the next slot without a packet
    };

    /// A packet that was released, and is to go to the device.
    struct Leaving
    {
        uint32_t slot; //!< its slot
        uint64_t at;   //!< when
    };

    /// An event that the scheduler is to be told of.
    struct Due
    {
        uint64_t at;     //!< when it happens
        uint64_t ticket; //!< the scheduler's note on the packet
        uint64_t took;   //!< the time that the packet took on the resource
        uint32_t flow;   //!< the packet's flow
    };

    /// Events of one kind, which happen in the order of release.
    struct Stream
    {
        uint32_t stage;      //!< a dvt_stage
        uint32_t resource;   //!< where
        std::deque<Due> due; //!< what is to be told
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /**
     * What the attributes come to.
     * @param stages where to write the resources' names but for the device's
     * @param classes where to write the classes
     * @param scheduler where to write a scheduler, the caller's
     * @return what is wrong, or nothing
     */
    std::string Build(std::vector<std::string>& stages, DovetailClasses& classes, dvt_scheduler*& scheduler) const;

    /**
     * Learns rate, framing and gap of the device where attributes do not state them.
     * @param rate where to write the rate; 0 if it is unknown
     * @param overhead where to write the bytes that the device adds to a packet
     * @param gap where to write the time that it waits between packets
     */
    void DescribeDevice(DataRate& rate, uint32_t& overhead, Time& gap) const;

    /// Tells the scheduler what happened until now; whether there was anything.
    bool Tell(uint64_t now);
    /// Puts on the list what the scheduler is to be told of a released packet.
    void Expect(const dvt_dispatch& released, const DovetailPipeline::Passage& passage);
    /// Asks the scheduler for a packet and sends it into the pipeline; whether there was one.
    bool Release(uint64_t now);
    /// Takes out the packet of a slot, and frees the slot.
    Ptr<QueueDiscItem> Take(uint32_t slot);
    /// Whether a packet is to be at the device already, which does not take it.
    bool IsOverdue(uint64_t now) const;
    /// Sees to it that the disc wakes up when it next has something to do.
    void Arm(uint64_t now);
    /// Something is due.
    void Wake();
    /// All arrivals of this instant are in: asks for packets.
    void Ask();
    /// What a packet takes on each resource.
    DovetailTimes Demand(Ptr<const QueueDiscItem> item, const DovetailClass& of);
    /// The time that the device takes for a packet.
    uint64_t LinkTime(uint32_t bytes);
    /// A flow's packet was released: counts for its share.
    void CountShare(uint32_t flow, const DovetailTimes& demand, uint64_t now);

    // attributes
    std::string m_policy;         //!< policy string
    QueueSize m_flowMaxSize;      //!< the most that may wait of a flow; 0: no limit
    OnFull m_onFull;              //!< who loses a packet
    std::string m_resourceNames;  //!< the resources, the device last
    std::string m_pipelineMode;   //!< what lies between them
    std::string m_classText;      //!< the classes
    DataRate m_linkRate;          //!< the device's rate; 0: ask the device
    uint32_t m_linkOverhead;      //!< what the device adds to a packet; the largest number: ask the device
    bool m_justInTime;            //!< whether packets go to the device when it is free
    Time m_flowTimeout;           //!< a flow is forgotten after so long
    uint32_t m_mostFlows;         //!< the most flows
    Time m_shareInterval;         //!< over which dominant shares are taken
    bool m_checked;               //!< whether libdovetail examines what costs time to examine

    CostCallback m_cost; //!< costs that classes cannot express

    dvt_scheduler* m_scheduler{nullptr}; //!< decides
    dvt_flows* m_flows{nullptr};         //!< tells flows apart
    Ptr<DovetailInternalQueue> m_queue;  //!< has the items
    DovetailClasses m_classes;           //!< what packets cost
    DovetailPipeline m_pipeline;         //!< when released packets are where
    std::size_t m_resources{1};          //!< how many there are, the device included
    bool m_learns{false};                //!< whether the scheduler estimates costs on the first resource

    std::vector<Slot> m_slots;            //!< by the number that the scheduler knows a packet by
    uint32_t m_freeSlot;                  //!< the first slot without a packet
    std::vector<uint32_t> m_classOf;      //!< by flow
    std::vector<uint64_t> m_linkTimes;    //!< by length; 0: not computed yet
    DataRate m_rate;                      //!< the device's
    uint32_t m_overhead{0};               //!< what it adds to a packet
    uint64_t m_gap{0};                    //!< how long it waits between packets
    uint64_t m_waiting{0};                //!< packets that the scheduler has
    bool m_held{false};                   //!< it chose none, and nothing has happened since
    std::deque<Leaving> m_leaving;        //!< released packets, in the order in which they go to the device
    std::vector<Stream> m_streams;        //!< what the scheduler is to be told, by kind
    uint64_t m_nextDue{NEVER};            //!< when the first of it happens
    EventId m_timer;                      //!< the next Wake
    uint64_t m_timerAt{NEVER};            //!< when that is
    EventId m_ask;                        //!< the Ask of this instant

    std::vector<DovetailTimes> m_used;    //!< by flow: time taken in the interval
    std::vector<uint32_t> m_users;        //!< flows that took any
    uint64_t m_intervalEnds{0};           //!< when the interval ends

    TracedCallback<Ptr<const QueueDiscItem>, uint32_t, Time> m_sojournTrace; //!< packets that go to the device
    TracedCallback<uint32_t, uint32_t, double> m_shareTrace; //!< what flows got of their dominant resource
};

} // namespace ns3

#endif /* DOVETAIL_QUEUE_DISC_H */
