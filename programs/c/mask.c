/* The program 'mask': XORs the payload of UDP over IPv4 with a repeated key.
 *
 * With a box at each end of a path, the second restores what the first masked. It hides nothing from an attacker: it is
 * an example of a program that touches every byte. The UDP checksum is set to 0, which means that there is none. Fragments
 * and all other frames pass untouched.
 */
#include "dovetail_program.h"

enum { ETHERNET = 14, IPV4 = 20, UDP = 8 };

static const uint8_t key[16] = {0x64, 0x6f, 0x76, 0x65, 0x74, 0x61, 0x69, 0x6c, 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15};

static uint32_t word(const uint8_t *at) { return (uint32_t)at[0] << 8 | at[1]; }

int64_t dv_process(uint8_t *frame, uint32_t length, uint32_t most) {
    (void)most;
    const uint8_t *ip = frame + ETHERNET;
    if (length < ETHERNET + IPV4 + UDP || word(frame + 12) != 0x0800 || ip[0] >> 4 != 4 || ip[9] != 17) {
        return dv_untouched();
    }
    uint32_t header = (ip[0] & 15u) * 4, total = word(ip + 2);
    int fragment = (word(ip + 6) & 0x3fff) != 0;
    if (fragment || header < IPV4 || total < header + UDP || total > length - ETHERNET) {
        return dv_untouched();
    }
    uint8_t *udp = frame + ETHERNET + header;
    udp[6] = udp[7] = 0;
    uint8_t *payload = udp + UDP;
    uint32_t bytes = total - header - UDP;
    for (uint32_t at = 0; at < bytes; at++) {
        payload[at] ^= key[at % sizeof key];
    }
    return dv_forward(frame, length);
}
