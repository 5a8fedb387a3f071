/* Is a frame of the write-ahead log damaged by one or two flipped bits? A frame whose checksum
 * fails may be half written, as a power cut leaves it, or damaged. A frame that verifies once one
 * or two bits are flipped back counts as damaged. A power cut leaves such a frame only where the
 * log held an older frame of the same page in this place, and a remaining sector of it differs from
 * the new one in a counter by exactly those bits. Then, too, no more is lost than a torn frame
 * loses: the frames after it.
 *
 * SQLite's checksum is linear, so the bits are looked up, not tried: some milliseconds. Two of the
 * 33,000 bits repair the checksum of a torn frame by chance once in 10^10 cases. Three are not
 * searched: that would take a minute. */
#ifndef RECORD_READ_BITFLIP_H
#define RECORD_READ_BITFLIP_H

#include <stdbool.h>
#include <stdint.h>

#include "record/read/page_checksum.h"

enum { FRAME_HEADER = 24, FRAME = FRAME_HEADER + SUMS_PAGE };

/* The offset in @frame of the byte whose bit is turned, of two that of one, or -1. @big: the byte
 * order of the log's sums; @before: the sum up to this frame; @salt: of this run through the
 * log. */
int bitflip_byte(const uint8_t frame[FRAME], bool big, const uint32_t before[2],
		 const uint8_t salt[8]);

#endif
