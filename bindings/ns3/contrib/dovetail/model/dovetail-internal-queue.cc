// SPDX-License-Identifier: MIT OR Apache-2.0

#include "dovetail-internal-queue.h"

#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("DovetailInternalQueue");

NS_OBJECT_ENSURE_REGISTERED(DovetailInternalQueue);

TypeId
DovetailInternalQueue::GetTypeId()
{
    static TypeId tid = TypeId("ns3::DovetailInternalQueue")
                            .SetParent<Queue<QueueDiscItem>>()
                            .SetGroupName("Dovetail")
                            .AddConstructor<DovetailInternalQueue>();
    return tid;
}

DovetailInternalQueue::DovetailInternalQueue()
    : NS_LOG_TEMPLATE_DEFINE("DovetailInternalQueue")
{
    // The disc's scheduler says what finds room.
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, std::numeric_limits<uint32_t>::max()));
}

DovetailInternalQueue::~DovetailInternalQueue()
{
}

DovetailInternalQueue::Place
DovetailInternalQueue::Put(Ptr<QueueDiscItem> item)
{
    Iterator place;
    const bool put = DoEnqueue(GetContainer().end(), item, place);
    NS_ABORT_MSG_UNLESS(put, "DovetailInternalQueue: more packets than ns-3 can count");
    return place;
}

Ptr<QueueDiscItem>
DovetailInternalQueue::Take(Place place)
{
    return DoDequeue(place);
}

bool
DovetailInternalQueue::Enqueue(Ptr<QueueDiscItem> item)
{
    Put(item);
    return true;
}

Ptr<QueueDiscItem>
DovetailInternalQueue::Dequeue()
{
    return DoDequeue(GetContainer().begin());
}

Ptr<QueueDiscItem>
DovetailInternalQueue::Remove()
{
    return DoRemove(GetContainer().begin());
}

Ptr<const QueueDiscItem>
DovetailInternalQueue::Peek() const
{
    return DoPeek(GetContainer().begin());
}

} // namespace ns3
