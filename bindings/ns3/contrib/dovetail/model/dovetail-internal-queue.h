// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DOVETAIL_INTERNAL_QUEUE_H
#define DOVETAIL_INTERNAL_QUEUE_H

#include "ns3/queue-item.h"
#include "ns3/queue.h"

namespace ns3
{

/**
 * @ingroup dovetail
 *
 * Where a DovetailQueueDisc keeps its items, so that ns-3 counts them as it counts those of any other disc.
 *
 * The order is the scheduler's, so an item is taken from the middle, by the place that it was put at.
 */
class DovetailInternalQueue : public Queue<QueueDiscItem>
{
  public:
    /// Where an item is.
    using Place = Queue<QueueDiscItem>::ConstIterator;

    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();

    DovetailInternalQueue();
    ~DovetailInternalQueue() override;

    /**
     * Puts an item in, whatever the queue's size: limits are the scheduler's.
     * @param item the item
     * @return its place, valid until the item is taken
     */
    Place Put(Ptr<QueueDiscItem> item);

    /**
     * Takes the item at a place.
     * @param place where it is
     * @return the item
     */
    Ptr<QueueDiscItem> Take(Place place);

    bool Enqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> Dequeue() override;
    Ptr<QueueDiscItem> Remove() override;
    Ptr<const QueueDiscItem> Peek() const override;

  private:
    NS_LOG_TEMPLATE_DECLARE; //!< the log component
};

} // namespace ns3

#endif /* DOVETAIL_INTERNAL_QUEUE_H */
