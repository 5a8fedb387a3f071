/* Inside of the pyodide driver (pyodide.h): pyodide_find.c finds its parts on the host, pyodide.c
 * is the sandbox, pyodide_run.c runs commands, pyodide_words.c parses their words. */
#ifndef SANDBOX_PYODIDE_PYODIDE_PRIV_H
#define SANDBOX_PYODIDE_PYODIDE_PRIV_H

#include "sandbox/process/process.h"
#include "sandbox/pyodide/pyodide.h"

/* --- pyodide_find.c --- */

struct pyodide_place {
	char *node, *package, *version; /* absolute, without links; of the package */
	char *store;			/* ours: engine.mjs, engine.py, and the memory image */
	char *memory;			/* the image; may not be there yet */
};
/* Looks for what the options name, or else where npm puts it. One line says what is missing and how
 * to get it. */
NODISCARD int pyodide_find(const json_t *options, struct pyodide_place *out, struct err *err);
/* puts our files there */
NODISCARD int pyodide_store(const struct pyodide_place *p, struct err *err);
void pyodide_place_release(struct pyodide_place *p);
json_t *pyodide_probe(void);

/* --- pyodide_words.c --- */

/* The command of engine.mjs for @o; returns owned. NULL: a Python sandbox can't run it; @why
 * (appended) is a line for the command's stderr. @in: its whole input, appended; *@in_set says that
 * there is one. */
json_t *pyodide_job(const struct run_opts *o, const struct strv *env, struct buf *in, bool *in_set,
		    struct buf *why);

/* --- the box --- */

struct engine;
struct pyodide {
	struct box b;	/* first */
	struct box *in; /* the process box around it */
	struct loop *loop;
	char *name;
	struct pyodide_place place;
	struct strv env;      /* of every command */
	struct engine *spare; /* loaded or about to be; waits for a command */
	bool open, dead, closing, leaving, busy /* a worker has us */;
	/* of making the image, and of the first spare: neither is waited for without end */
	struct loop_timer *late;
	json_t *result;	    /* of the process box */
	bool made;	    /* the memory image was, by this box */
	struct run *making; /* the memory image */
	struct buf image, said;
	struct err failed;
	box_done_fn *opened, *closed;
	void *opened_self, *closed_self;
	void (*progress)(void *self, const char *line, size_t len);
	void *progress_self;
};

/* --- pyodide_run.c --- */
struct run *pyodide_engine(struct pyodide *p, const char *kind, const char *job, bool pty,
			   uint16_t cols, uint16_t rows,
			   /* prepared; run verbs of driver_process */
			   const struct run_ops *ops, void *self);
/* starts one if there is none; pyodide_ready or pyodide_failed follows */
void pyodide_spare(struct pyodide *p);
void pyodide_spare_end(struct pyodide *p);
struct run *pyodide_run(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			void *self);
void pyodide_go(struct run *r);
void pyodide_stdin(struct run *r, const void *bytes, size_t len, bool eof);
size_t pyodide_stdin_queued(const struct run *r);
void pyodide_signal(struct run *r, int signo);
void pyodide_resize(struct run *r, const struct winsize *size);
void pyodide_pause(struct run *r, bool paused);
void pyodide_run_free(struct run *r);

/* --- pyodide.c: of the first spare, while the box opens --- */
void pyodide_ready(struct pyodide *p);
void pyodide_failed(struct pyodide *p, const char *said);

#endif
