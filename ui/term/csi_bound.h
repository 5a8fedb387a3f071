/* Bounds the arguments of control sequences (CSI): libvterm 0.1 writes the 17th argument, and those
 * after it, behind its table. */
#ifndef UI_CSI_BOUND_H
#define UI_CSI_BOUND_H

#include "base/buf.h"

/* Where the bytes so far end; starts as zeros. */
struct csi_bound {
	enum { CSI_OUTSIDE, CSI_AFTER_ESC, CSI_INSIDE } at;
	unsigned nr_separators;
};

/* Drops from @b what follows the 15th separator of a sequence, except its last byte. A byte counts
 * as part of a sequence if it may be. */
void csi_bound_drop(struct csi_bound *c, struct buf *b);

#endif
