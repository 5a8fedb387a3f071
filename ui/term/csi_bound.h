/* Bounds what control sequences (CSI) do to libvterm 0.1: it writes the 17th argument, and those
 * after it, behind its table, and with left and right margins it writes outside of its cells when
 * the size changes. */
#ifndef UI_CSI_BOUND_H
#define UI_CSI_BOUND_H

#include "base/buf.h"

/* Where the bytes so far end; starts as zeros. */
struct csi_bound {
	enum { CSI_OUTSIDE, CSI_AFTER_ESC, CSI_INSIDE } at;
	unsigned nr_separators;
};

/* Drops from @b what follows the 15th separator of a sequence, except its last byte, and cancels
 * sequences that end in 's'. A byte counts as part of a sequence if it may be. */
void csi_bound_drop(struct csi_bound *c, struct buf *b);

#endif
