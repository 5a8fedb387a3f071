/* Inside of the mirror (mirror.h): mirror.c talks to the other side, mirror_sync.c makes both sides
 * equal, mirror_diff.c knows what has changed there. Nothing in mirror_diff.c waits or touches a
 * file but the one for contents. */
#ifndef SANDBOX_COMMON_MIRROR_PRIV_H
#define SANDBOX_COMMON_MIRROR_PRIV_H

#include <pthread.h>

#include "base/beneath.h"
#include "sandbox/common/mirror.h"
#include "sandbox/driver.h"
#include "wire/manifest.h"

/* A manifest, read. */
struct listing {
	struct buf bytes, digest;    /* digest: 8 bytes, or empty: not known */
	struct manifest_entry *item; /* borrow from bytes */
	size_t nr, cap;
};
NODISCARD int listing_read(struct listing *l, struct err *err); /* of its bytes */
void listing_release(struct listing *l);
/* @far becomes @now for @paths (and paths below them), and stays as it is elsewhere. */
void listing_adopt(struct listing *far, struct listing *now, const struct strv *paths);

/* The changes from one manifest to the next. */
struct mirror_news {
	int contents; /* memfd: what the files are to hold; owned */
	uint64_t contents_len;
	struct want {
		struct manifest_entry
			*e;		 /* of the new listing: takes the stamp of the bytes read */
		uint64_t size, off, got; /* size: as it was listed */
		bool begun, whole, gone;
	} * want;
	size_t nr_want, cap_want;
	const struct manifest_entry **removed; /* topmost only, of the old one */
	size_t nr_removed, cap_removed;
	/* directories that their owner may not write into: for the time of the plan he may */
	struct strv opened;
	struct listing *now;
	const struct manifest_entry **set; /* new or different, parents first */
	size_t nr_set, cap_set;
	struct buf plan;
	size_t nr_ops;
};
void mirror_find(struct mirror_news *c, const struct listing *old, struct listing *now);
/* Appends what to ask for from want @i on, about one piece; returns the first that is not asked
 * for. */
size_t mirror_ask(const struct mirror_news *c, size_t i, struct buf *in);
NODISCARD int mirror_take(struct mirror_news *c, size_t i, size_t end, const struct buf *out,
			  struct err *err);
/* The same of what came unasked: of any files, in order. */
NODISCARD int mirror_take_any(struct mirror_news *c, const char *bytes, size_t len,
			      struct err *err);
/* Files whose bytes we have: those of @puts that are in demand are compared by their digests, in
 * the order of @in, and taken where the answer (@out) is equal. The others are fetched. */
struct mirror_put {
	char *path;
	struct buf bytes;
};
void mirror_ask_sums(struct mirror_news *c, const struct mirror_put *puts, size_t nr,
		     struct buf *in);
void mirror_take_sums(struct mirror_news *c, struct mirror_put *puts, size_t nr,
		      const struct buf *out);
void mirror_plan(struct mirror_news *c);
void mirror_release(struct mirror_news *c);

/* A question of a worker's on its way to the other side. */
struct call {
	char *const *arg;
	const void *in;
	size_t len;
	bool sent, done;
	struct buf out;
	struct err err;
};

struct mirror {
	struct mirror *next; /* of all */
	struct loop *loop;
	struct loop_wake *wake;
	struct mirror_opts o;
	char *far_root;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct call *call;
	bool over;
	struct { /* news that came with the end of a command, and known to the caller */
		/* asked; its command has ended */
		enum { NEWS_NONE, NEWS_ASKED, NEWS_DUE, NEWS_HERE } state;
		unsigned nr;
		char digest[8]; /* the listing that it tells the news of */
		struct buf bytes;
		struct buf known; /* digest of the newest listing, or empty */
		uint64_t newest;  /* time of change in it */
	} news;
	struct { /* what we have written over there, the newest last */
		struct mirror_put *item;
		size_t nr, cap;
		uint64_t bytes;
	} puts;
	struct listing far; /* as it was when both sides were equal */
	/* a plan was carried out in part: what lies here is to be looked at, and every file to be
	 * fetched */
	bool torn;
};

enum {
	NEWS_MAX = 256 << 10,
	NEWS_WAIT_S = 30,
	PUT_LEAST = 16 << 10,
	PUT_MOST = 2 * BOX_FILE_MAX,
	PUTS = 64
};

/* --- mirror.c --- */
int mirror_request(struct mirror *m, const char *verb, const void *in, size_t len, struct buf *out,
		   struct err *err);
bool mirror_take_news(struct mirror *m, bool ended, struct buf *out);
void take_puts(struct mirror *m, struct mirror_news *c);
void mirror_remember(struct mirror *m);

#endif
