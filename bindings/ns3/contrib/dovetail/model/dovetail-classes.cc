// SPDX-License-Identifier: MIT OR Apache-2.0

#include "dovetail-classes.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <sstream>

namespace ns3
{

namespace
{

/// A number that takes up the whole text.
template <class Number>
bool
ReadNumber(const std::string& text, Number& number)
{
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end;
}

/// A time such as 84.5us, in nanoseconds.
bool
ReadTime(const std::string& text, double& ns)
{
    const std::size_t unit = text.find_first_not_of("0123456789.");
    if (unit == std::string::npos || !ReadNumber(text.substr(0, unit), ns))
    {
        return false;
    }
    static const std::pair<const char*, double> UNITS[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (const auto& [name, scale] : UNITS)
    {
        if (text.compare(unit, std::string::npos, name) == 0)
        {
            ns *= scale;
            // As long as libdovetail takes: some 31 years.
            return ns < 1e18;
        }
    }
    return false;
}

/// The parts of a text between separators, without spaces around them; empty ones are left out.
std::vector<std::string>
Split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
    {
        const std::size_t first = part.find_first_not_of(" \t\n");
        if (first != std::string::npos)
        {
            parts.push_back(part.substr(first, part.find_last_not_of(" \t\n") + 1 - first));
        }
    }
    return parts;
}

/// A prefix such as 10.1.0.0/16 or 2001:db8::/32.
bool
ReadPrefix(const std::string& text, DovetailClass& to)
{
    const std::size_t slash = text.find('/');
    const std::string address = text.substr(0, slash);
    const bool isV6 = address.find(':') != std::string::npos;
    uint32_t bits = isV6 ? 128 : 32;
    if (slash != std::string::npos && (!ReadNumber(text.substr(slash + 1), bits) || bits > (isV6 ? 128u : 32u)))
    {
        return false;
    }
    to.prefix = {};
    if (!isV6)
    {
        to.prefix[10] = to.prefix[11] = 0xff;
    }
    to.prefixBits = isV6 ? bits : 96 + bits;
    return inet_pton(isV6 ? AF_INET6 : AF_INET, address.c_str(), to.prefix.data() + (isV6 ? 0 : 12)) == 1;
}

/// Whether the first bits of two addresses are equal.
bool
HasPrefix(const std::array<uint8_t, 16>& address, const std::array<uint8_t, 16>& prefix, uint8_t bits)
{
    const std::size_t bytes = bits / 8;
    if (!std::equal(prefix.begin(), prefix.begin() + bytes, address.begin()))
    {
        return false;
    }
    const int left = bits % 8;
    return left == 0 || ((address[bytes] ^ prefix[bytes]) >> (8 - left)) == 0;
}

} // namespace

bool
DovetailCost::Parse(const std::string& text, DovetailCost& cost)
{
    const std::vector<std::string> terms = Split(text, '+');
    bool hasBytes = false;
    bool hasPacket = false;
    cost = DovetailCost();
    for (const std::string& term : terms)
    {
        const std::vector<std::string> factors = Split(term, '*');
        const bool isPerByte = factors.size() == 2 && factors[1] == "bytes";
        bool& has = isPerByte ? hasBytes : hasPacket;
        double& ns = isPerByte ? cost.perByteNs : cost.perPacketNs;
        if (has || (!isPerByte && factors.size() != 1) || !ReadTime(factors[0], ns))
        {
            return false;
        }
        has = true;
    }
    return hasBytes || hasPacket;
}

bool
DovetailClass::Matches(const DovetailTuple& tuple) const
{
    const bool byPort = port == 0 || tuple.sourcePort == port || tuple.destinationPort == port;
    return byPort && (prefixBits == 0 || HasPrefix(tuple.source, prefix, prefixBits) ||
                      HasPrefix(tuple.destination, prefix, prefixBits));
}

std::string
DovetailClasses::Parse(const std::string& text, const std::vector<std::string>& stages)
{
    std::vector<DovetailClass> classes;
    for (const std::string& line : Split(text, ';'))
    {
        const std::vector<std::string> words = Split(line, ' ');
        DovetailClass made;
        made.name = words[0];
        const auto wrong = [&](const std::string& what) {
            return "class '" + made.name + "' of the attribute Classes: " + what;
        };
        if (made.name.find('=') != std::string::npos)
        {
            return wrong("a class begins with its name, as in 'web port=443 cpu=3us'");
        }
        for (std::size_t at = 1; at < words.size(); at++)
        {
            const std::size_t equals = words[at].find('=');
            const std::string key = words[at].substr(0, equals);
            const std::string value = equals == std::string::npos ? "" : words[at].substr(equals + 1);
            const auto stage = std::find(stages.begin(), stages.end(), key);
            bool fits = false;
            if (key == "port")
            {
                fits = ReadNumber(value, made.port) && made.port > 0;
            }
            else if (key == "prefix")
            {
                fits = ReadPrefix(value, made);
            }
            else if (key == "weight")
            {
                fits = ReadNumber(value, made.weight) && made.weight >= 1e-6 && made.weight <= 1e6;
            }
            else if (stage != stages.end())
            {
                fits = DovetailCost::Parse(value, made.costs[stage - stages.begin()]);
            }
            else
            {
                std::string known = "port, prefix, weight";
                for (const std::string& name : stages)
                {
                    known += ", " + name;
                }
                return wrong("'" + key + "' is none of " + known);
            }
            if (!fits)
            {
                return wrong("'" + value + "' cannot be its " + key);
            }
        }
        classes.push_back(made);
    }
    // What matches no class costs nothing on the stages before the device.
    classes.emplace_back();
    m_classes = std::move(classes);
    return "";
}

std::size_t
DovetailClasses::Of(const DovetailTuple& tuple) const
{
    const auto matches = [&](const DovetailClass& made) { return made.Matches(tuple); };
    return std::find_if(m_classes.begin(), m_classes.end(), matches) - m_classes.begin();
}

} // namespace ns3
