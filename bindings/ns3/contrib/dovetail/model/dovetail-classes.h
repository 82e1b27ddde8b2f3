// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DOVETAIL_CLASSES_H
#define DOVETAIL_CLASSES_H

#include "dovetail-pipeline.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup dovetail
 *
 * What a packet takes on a resource: so many nanoseconds for each byte and for each packet.
 */
struct DovetailCost
{
    double perByteNs{0};   //!< nanoseconds for each byte
    double perPacketNs{0}; //!< nanoseconds for each packet

    /**
     * Reads a cost such as "15ns*bytes+84.5us".
     * @param text the cost; the terms in any order, either left out
     * @param cost where to write it
     * @return whether it is one
     */
    static bool Parse(const std::string& text, DovetailCost& cost);

    /**
     * @param bytes a packet's length
     * @return its time, to the nearest nanosecond
     */
    uint64_t Of(uint32_t bytes) const
    {
        return static_cast<uint64_t>(perByteNs * bytes + perPacketNs + 0.5);
    }
};

/**
 * @ingroup dovetail
 *
 * The 5-tuple by which a packet's flow is told. IPv4 addresses are IPv4-mapped.
 */
struct DovetailTuple
{
    std::array<uint8_t, 16> source{};      //!< who sent it
    std::array<uint8_t, 16> destination{}; //!< to whom
    uint16_t sourcePort{0};                //!< 0 where the protocol has none
    uint16_t destinationPort{0};           //!< 0 where the protocol has none
    uint8_t protocol{0};                   //!< IP protocol number
};

/**
 * @ingroup dovetail
 *
 * Packets that are processed alike: all of them, those of a port, of a prefix, or of both.
 */
struct DovetailClass
{
    std::string name;                //!< its name
    uint16_t port{0};                //!< source or destination port; 0: any
    std::array<uint8_t, 16> prefix{}; //!< source or destination address, as far as prefixBits says
    uint8_t prefixBits{0};           //!< 0: any address
    double weight{1};                //!< of each of its flows
    std::array<DovetailCost, DOVETAIL_MAX_RESOURCES> costs{}; //!< on each resource but the device

    /**
     * @param tuple a packet's
     * @return whether the packet is of this class
     */
    bool Matches(const DovetailTuple& tuple) const;
};

/**
 * @ingroup dovetail
 *
 * The classes of a disc, in the order in which they are tried.
 */
class DovetailClasses
{
  public:
    /**
     * Reads classes such as
     *
     *     ipsec port=443 cpu=15ns*bytes+84.5us; lan prefix=10.1.0.0/16 cpu=3us weight=2; rest cpu=1us
     *
     * A class without port and prefix is all that no class before it matched.
     *
     * @param text the classes
     * @param stages the names of the resources that a class states costs of: all but the device
     * @return what is wrong, or nothing if these are the classes now
     */
    std::string Parse(const std::string& text, const std::vector<std::string>& stages);

    /**
     * @param tuple a packet's
     * @return the number of its class; the last is of those that match none
     */
    std::size_t Of(const DovetailTuple& tuple) const;

    /**
     * @param number the number of a class
     * @return the class
     */
    const DovetailClass& At(std::size_t number) const
    {
        return m_classes[number];
    }

    /// @return how many classes there are, that of the rest included
    std::size_t Count() const
    {
        return m_classes.size();
    }

  private:
    std::vector<DovetailClass> m_classes{DovetailClass()}; //!< in order; the last matches everything
};

} // namespace ns3

#endif /* DOVETAIL_CLASSES_H */
