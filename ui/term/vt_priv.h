/* Between vt.c, which feeds the emulation, and the files that read its state. */
#ifndef UI_VT_PRIV_H
#define UI_VT_PRIV_H

#include <vterm.h>

#include "ui/term/csi_bound.h"
#include "ui/term/vt.h"

struct line {
	struct glyph *glyph;
	int nr;
};

struct vt {
	VTerm *vterm;
	VTermScreen *screen;
	struct line back[VT_BACK_MAX]; /* a ring: the oldest at first */
	size_t first, nr;
	bool bare_lf, no_back, alternate; /* alternate: that screen is shown */
	char begun[4];			  /* of a character */
	size_t nr_begun;
	struct csi_bound csi;
	struct modes modes; /* of all that the emulation got */
	bool escape;	    /* an ESC waits for what follows it */
	VTerm *ahead;	    /* reads all of it first, draws nothing */
	char last[4];	    /* the character that it read last, of one cell or two */
	size_t nr_last;
	int shift;   /* the set of characters, 0 to 3, that it has chosen */
	bool single; /* it has chosen another one for the next character */
	int top;     /* margin that it has set last, if libvterm took it */
	long repeat; /* it has read a REP: how often */
	long credit; /* characters that REPs may still make: input earns them */
};

struct glyph glyph_of(const struct vt *v, const VTermScreenCell *c);
/* Appends what selects the style of @c, from any other. */
void vt_put_style(const VTermScreenCell *c, struct buf *out);
/* From 1. False: libvterm gives none. Between two sequences only. */
bool vt_margins(const struct vt *v, int *top, int *bottom);

#endif
