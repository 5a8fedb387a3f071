/* Is it a turned bit, or two? A frame of the write-ahead log that does not hold may have been
 * written by half, as a power cut leaves it, or be damaged. A frame that holds once one or two bits
 * are turned back counts as damaged. A power cut leaves such a one only where the log had an older
 * frame of the same page in this very place, and a sector of that, which stayed, differs from the
 * new one in a counter by those bits and in nothing else. Then too no more is lost than a torn
 * frame loses: what follows it.
 *
 * SQLite's sum is linear, so the bits are looked up, not tried: some milliseconds. Two of the
 * 33,000 mend the sum of a torn frame by chance once in 10^10 times. Three are not looked for: that
 * would take a minute. */
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
