// SPDX-License-Identifier: MIT OR Apache-2.0

#include "dovetail-helper.h"

#include "ns3/abort.h"
#include "ns3/node.h"
#include "ns3/queue-disc.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"

namespace ns3
{

DovetailHelper::DovetailHelper(const std::string& policy)
{
    m_factory.SetTypeId("ns3::DovetailQueueDisc");
    m_factory.Set("Policy", StringValue(policy));
}

void
DovetailHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

void
DovetailHelper::SetCpuStage(const std::string& pipeline)
{
    m_factory.Set("Resources", StringValue("cpu,link"));
    m_factory.Set("Pipeline", StringValue(pipeline));
}

void
DovetailHelper::AddClass(const std::string& text)
{
    m_classes += (m_classes.empty() ? "" : "; ") + text;
}

QueueDiscContainer
DovetailHelper::Install(const NetDeviceContainer& devices) const
{
    QueueDiscContainer discs;
    for (uint32_t at = 0; at < devices.GetN(); at++)
    {
        const Ptr<NetDevice> device = devices.Get(at);
        const Ptr<TrafficControlLayer> control = device->GetNode()->GetObject<TrafficControlLayer>();
        NS_ABORT_MSG_UNLESS(control, "DovetailHelper: install the internet stack on the node first");
        if (control->GetRootQueueDiscOnDevice(device))
        {
            control->DeleteRootQueueDiscOnDevice(device);
        }
        const Ptr<QueueDisc> disc = m_factory.Create<QueueDisc>();
        if (!m_classes.empty())
        {
            disc->SetAttribute("Classes", StringValue(m_classes));
        }
        control->SetRootQueueDiscOnDevice(device, disc);
        discs.Add(disc);
    }
    return discs;
}

} // namespace ns3
