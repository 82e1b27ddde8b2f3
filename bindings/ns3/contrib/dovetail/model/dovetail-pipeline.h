// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DOVETAIL_PIPELINE_H
#define DOVETAIL_PIPELINE_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ns3
{

/// The most resources that a packet crosses: that of libdovetail.
constexpr std::size_t DOVETAIL_MAX_RESOURCES = 8;

/// A time on each resource, in nanoseconds.
using DovetailTimes = std::array<uint64_t, DOVETAIL_MAX_RESOURCES>;

/**
 * @ingroup dovetail
 *
 * When a packet starts and ends on each resource.
 *
 * Resources serve in order of release, one packet at a time, so a packet's whole way follows from the packets before it.
 * With start S_j(n), end E_j(n) = S_j(n) + L_j(n), and the instant D_j(n) at which packet n leaves resource j free:
 *
 *     no-wait    S_1(n) = max(now, max_j (E_j(n-1) - sum_{i<j} L_i(n))),  S_{j+1}(n) = E_j(n)
 *     unbounded  S_j(n) = max(E_{j-1}(n), E_j(n-1)),                      D_j(n) = E_j(n)
 *     buffer=K   S_j(n) = max(D_{j-1}(n), D_j(n-1)),                      D_j(n) = max(E_j(n), S_{j+1}(n-K))
 *
 * These are the equations of Dovetail's own simulator, so that both can be compared to the nanosecond.
 */
class DovetailPipeline
{
  public:
    /// What lies between one resource and the next.
    enum class Mode
    {
        NO_WAIT,   //!< a packet that leaves a resource enters the next at once
        UNBOUNDED, //!< any number of packets may wait
        BUFFER     //!< this many packets may wait; then the resource before is blocked
    };

    /// A packet's way.
    struct Passage
    {
        DovetailTimes start; //!< when it starts on each resource
        DovetailTimes end;   //!< when it ends there
    };

    /**
     * Sets what lies between resources.
     * @param text no-wait, unbounded or buffer=K
     * @return whether that is a mode; nothing has changed if it is not
     */
    bool SetMode(const std::string& text);

    /**
     * Empties the pipeline.
     * @param resources how many resources there are
     */
    void Reset(std::size_t resources);

    /// @return when the first resource can take another packet
    uint64_t Ready() const
    {
        return m_free[0];
    }

    /**
     * Sends a packet in.
     * @param now the instant, not before Ready()
     * @param demand what the packet takes on each resource
     * @return its way, valid until the next call
     */
    const Passage& Admit(uint64_t now, const DovetailTimes& demand);

  private:
    /// A packet that may still hold a place before a resource.
    struct Started
    {
        uint64_t packet; //!< its number
        uint64_t at;     //!< when it starts on the resource
    };

    void NoWait(uint64_t now, const DovetailTimes& demand);
    void Unbounded(uint64_t now, const DovetailTimes& demand);
    void Blocking(uint64_t now, const DovetailTimes& demand);

    Mode m_mode{Mode::NO_WAIT};               //!< what lies between resources
    uint64_t m_places{0};                     //!< K of buffer=K
    std::size_t m_resources{1};               //!< how many there are
    DovetailTimes m_free{};                   //!< when each can take another packet
    std::vector<std::deque<Started>> m_starts; //!< for buffer=K, before each resource
    uint64_t m_packets{0};                    //!< how many were admitted
    Passage m_passage{};                      //!< the last packet's
};

} // namespace ns3

#endif /* DOVETAIL_PIPELINE_H */
