// SPDX-License-Identifier: MIT OR Apache-2.0

#include "dovetail-pipeline.h"

#include <algorithm>
#include <charconv>

namespace ns3
{

bool
DovetailPipeline::SetMode(const std::string& text)
{
    const std::string buffer = "buffer=";
    if (text == "no-wait")
    {
        m_mode = Mode::NO_WAIT;
        return true;
    }
    if (text == "unbounded")
    {
        m_mode = Mode::UNBOUNDED;
        return true;
    }
    if (text.compare(0, buffer.size(), buffer) != 0)
    {
        return false;
    }
    uint32_t places = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + buffer.size(), end, places);
    if (read.ec != std::errc() || read.ptr != end)
    {
        return false;
    }
    m_mode = Mode::BUFFER;
    m_places = places;
    return true;
}

void
DovetailPipeline::Reset(std::size_t resources)
{
    m_resources = resources;
    m_free.fill(0);
    m_starts.assign(resources, {});
    m_packets = 0;
}

const DovetailPipeline::Passage&
DovetailPipeline::Admit(uint64_t now, const DovetailTimes& demand)
{
    switch (m_mode)
    {
    case Mode::NO_WAIT:
        NoWait(now, demand);
        break;
    case Mode::UNBOUNDED:
        Unbounded(now, demand);
        break;
    case Mode::BUFFER:
        Blocking(now, demand);
        break;
    }
    m_packets++;
    return m_passage;
}

void
DovetailPipeline::NoWait(uint64_t now, const DovetailTimes& demand)
{
    uint64_t start = now;
    uint64_t before = 0;
    for (std::size_t j = 0; j < m_resources; j++)
    {
        if (m_free[j] > start + before)
        {
            start = m_free[j] - before;
        }
        before += demand[j];
    }
    for (std::size_t j = 0; j < m_resources; j++)
    {
        m_passage.start[j] = start;
        start += demand[j];
        m_passage.end[j] = m_free[j] = start;
    }
}

void
DovetailPipeline::Unbounded(uint64_t now, const DovetailTimes& demand)
{
    uint64_t at = now;
    for (std::size_t j = 0; j < m_resources; j++)
    {
        m_passage.start[j] = std::max(at, m_free[j]);
        at = m_passage.start[j] + demand[j];
        m_passage.end[j] = m_free[j] = at;
    }
}

void
DovetailPipeline::Blocking(uint64_t now, const DovetailTimes& demand)
{
    uint64_t at = now;
    for (std::size_t j = 0; j < m_resources; j++)
    {
        const uint64_t start = std::max(at, m_free[j]);
        const uint64_t end = start + demand[j];
        m_passage.start[j] = start;
        m_passage.end[j] = end;
        if (j > 0 && m_places == 0)
        {
            m_free[j - 1] = start;
        }
        else if (j > 0)
        {
            m_starts[j].push_back({m_packets, start});
        }
        at = end;
        if (j + 1 < m_resources && m_places > 0)
        {
            // A packet that started on the next resource by now holds no place before it.
            auto& next = m_starts[j + 1];
            while (!next.empty() && (next.front().packet + m_places < m_packets || next.front().at <= now))
            {
                next.pop_front();
            }
            if (!next.empty() && next.front().packet + m_places == m_packets)
            {
                at = std::max(at, next.front().at);
            }
        }
        m_free[j] = at;
    }
}

} // namespace ns3
