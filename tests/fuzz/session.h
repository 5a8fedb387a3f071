/* For targets that read a session: a small one, made once, gone at the end. */
#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/read/session.h"
#include "record/record.h"
#include "record/store.h"

static char fuzz_root[] = "/tmp/sandglass-fuzz-XXXXXX";

static void fuzz_gone(void)
{
	struct err err = ERR_INIT;
	if (dir_remove(fuzz_root, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
}

/* Calls @fill to append to it, ends it and opens it. */
static struct session *fuzz_session(void (*fill)(struct record *r))
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	if (!mkdtemp(fuzz_root))
		abort();
	atexit(fuzz_gone);
	setenv("XDG_STATE_HOME", fuzz_root, 1);
	setenv("HOME", fuzz_root, 1);
	hash_init();
	store_index_from(1); /* short sessions have no search index otherwise */
	if (loop_new(&l, &err) < 0 ||
	    record_create(&r, l, fuzz_root, "fuzz", NULL, NULL, NULL, &err) < 0)
		abort();
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	fill(r);
	if (record_close(&r, NULL, &err) < 0 || session_open(&s, path, &err) < 0)
		abort();
	loop_free(l);
	return s;
}

#endif
