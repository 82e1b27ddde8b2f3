/* What a program for a Dovetail box is written with in C.
 *
 *     #include "dovetail_program.h"
 *
 *     int64_t dv_process(uint8_t *frame, uint32_t length, uint32_t most) {
 *         return length > 1000 ? dv_drop() : dv_untouched();
 *     }
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Iprograms/c -Wl,--no-entry,--strip-all -o short.wasm short.c
 *
 * -I names the folder of this file. Include it in one file of a program: it defines dv_abi, dv_buffer and the buffer.
 * On a trap, such as __builtin_trap(), the packet is dropped and the program restarts with its initial variables.
 */
#ifndef DOVETAIL_PROGRAM_H
#define DOVETAIL_PROGRAM_H

#include <stdint.h>

#define DV_ABI 1

/* An IP packet of 65,535 bytes with its Ethernet header and tags, and 256 bytes by which a frame may grow. */
#define DV_BUFFER_BYTES (65557 + 256)

#define DV_EXPORT(name) __attribute__((export_name(#name)))

/* Processes the Ethernet frame of 'length' bytes at 'frame', which has room for 'most' bytes. Returns the result of one
 * of the three functions below. */
DV_EXPORT(dv_process) int64_t dv_process(uint8_t *frame, uint32_t length, uint32_t most);

/* Forward the frame as it was received, whatever has been written to it. */
static inline int64_t dv_untouched(void) { return 0; }

/* Forward the 'length' bytes at 'frame', which may be anywhere in the program's memory: 14 to 'most' bytes. */
static inline int64_t dv_forward(const uint8_t *frame, uint32_t length) {
    return (int64_t)1 << 56 | (int64_t)(uint32_t)(uintptr_t)frame << 24 | (int64_t)(length & 0xffffff);
}

/* Drop the frame. */
static inline int64_t dv_drop(void) { return (int64_t)2 << 56; }

static uint8_t dv_frame[DV_BUFFER_BYTES];

DV_EXPORT(dv_abi) int32_t dv_abi(void) { return DV_ABI; }

DV_EXPORT(dv_buffer) uint8_t *dv_buffer(uint32_t capacity) {
    return capacity <= DV_BUFFER_BYTES ? dv_frame : 0;
}

#endif
