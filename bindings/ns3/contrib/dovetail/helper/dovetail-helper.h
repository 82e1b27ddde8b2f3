// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DOVETAIL_HELPER_H
#define DOVETAIL_HELPER_H

#include "ns3/net-device-container.h"
#include "ns3/queue-disc-container.h"
#include "ns3/traffic-control-helper.h"

#include <string>

namespace ns3
{

/**
 * @ingroup dovetail
 *
 * Installs DovetailQueueDiscs. TrafficControlHelper does as well:
 *
 *     TrafficControlHelper control;
 *     control.SetRootQueueDisc("ns3::DovetailQueueDisc", "Policy", StringValue("drr"));
 *
 * This one collects classes, and takes away a queue disc that a device already has, as it gets one with its address.
 */
class DovetailHelper
{
  public:
    /**
     * @param policy a policy string, such as drr or drfq
     */
    explicit DovetailHelper(const std::string& policy = "drr");

    /**
     * Sets an attribute of the discs.
     * @param name the attribute's name
     * @param value its value
     */
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Puts a CPU in front of the device.
     * @param pipeline what lies between the two: no-wait, unbounded or buffer=K
     */
    void SetCpuStage(const std::string& pipeline = "no-wait");

    /**
     * Adds a class, to be tried after those before it.
     * @param text the class, such as "ipsec port=443 cpu=15ns*bytes+84.5us"
     */
    void AddClass(const std::string& text);

    /**
     * Installs a disc on each device.
     * @param devices the devices
     * @return the discs
     */
    QueueDiscContainer Install(const NetDeviceContainer& devices) const;

  private:
    ObjectFactory m_factory; //!< makes the discs
    std::string m_classes;   //!< what the attribute Classes will be
};

} // namespace ns3

#endif /* DOVETAIL_HELPER_H */
