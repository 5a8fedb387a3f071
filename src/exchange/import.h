/* Importers: sessions of agents that we never ran, as the same tables. One file and one row of
 * importers.def each; the functions they call are here.
 *
 * 1. An import claims only the facts in the file. Its actions have no verdict and no action.started
 *    (no policy check happened here), their bodies have "imported": true, and session.start names
 *    the file and its format.
 * 2. An unreadable part is an import.gap with its line; a part without a meaning here is kept as
 *    import.line. Nothing is skipped silently, nothing crashes.
 * 3. Time and memory are linear in the file. So model.call names only the new messages since the
 *    call before; "before" counts the earlier ones.
 * 4. Times are those of the file (without them: the time of the import); they never go
 *    backwards. One thread. */
#ifndef EXCHANGE_IMPORT_H
#define EXCHANGE_IMPORT_H

#include <stdio.h>

#include "base/json.h"

enum { IMPORT_LINE_MAX = 64 << 20, IMPORT_FILE_MAX = 512 << 20 };

struct import;

/* Counts, for users and tests. */
struct import_sums {
	size_t lines, gaps, first_gap, kept; /* kept: import.line */
	/* answers of models, calls of tools, texts of users */
	size_t turns, calls, people;
	int64_t tokens_in, tokens_out;
	size_t files; /* that were read: the file, and those of its subagents */
};

struct importer {
	const char *name, *about;
	/* How surely the beginning of a file (up to 64 KiB, terminated) is of this form: 0 not, 100
	 * certain. */
	int (*sniff)(const char *head, size_t len);
	/* Reads @in to its end. ERR_PARSE when it is not of this form at all. */
	int (*run)(struct import *im, FILE *in, struct err *err);
};
const struct importer *importer_at(size_t i);
const struct importer *importer_find(const char *name);
const struct importer *importer_sniff(const char *head, size_t len); /* NULL */

/* Called before anything is written, with what session.start will say of the file: {format, file,
 * hash, origin (the id that its agent gave the session)}. A failure ends the import. */
typedef int import_check_fn(void *self, const json_t *from, struct err *err);

/* Imports @path (shown as that) into a new session in @dir. Nothing is left of one that fails.
 * @path_out: owned. */
NODISCARD int import_run(const struct importer *e, const char *path, const char *dir,
			 const char *name, import_check_fn *check, void *self, char **path_out,
			 struct import_sums *sums, struct err *err);
/* For tests and fuzzing: the same from a stream, writing nothing. */
NODISCARD int import_dry(const struct importer *e, FILE *in, struct import_sums *sums,
			 struct err *err);

/* --- for importers --- */

struct usage {
	int64_t in, out, cached, written; /* tokens; in is all of the input */
	int64_t written_1h;		  /* of written: for an hour */
	int64_t cost_uusd; /* as the file says; -1: it doesn't, and list prices count */
};
#define USAGE_INIT ((struct usage){ .cost_uusd = -1 })

/* Everything from here on happened then. @rfc3339 may be NULL or broken: no change. */
void import_time(struct import *im, const char *rfc3339);
void import_time_us(struct import *im, int64_t wall_us);
/* A number of tokens. What no count can be (below 0, above a million million) is 0: sums of such
 * numbers must not overflow. */
int64_t import_tokens(const json_t *usage, const char *key);
/* The agent that speaks from here on; made when it is named first. */
void import_agent(struct import *im, const char *name, const char *model);
/* The same, of an agent that @parent started. */
void import_subagent(struct import *im, const char *name, const char *model, const char *parent);
/* Another file that is read with it: of a subagent. */
void import_also(struct import *im, const char *path);
/* The path of the file; NULL: it is a stream. */
const char *import_path(const struct import *im);
/* The id that its agent gave the session; the first one counts. */
void import_origin(struct import *im, const char *id);
/* A message of role "user" or "system"; @people: a user wrote it. */
void import_say(struct import *im, const char *role, const char *text, bool people);
/* An answer of a model and the calls that it asks for ([{id,name,args}]; may be NULL). */
void import_reply(struct import *im, const char *model, const char *text, const json_t *calls,
		  const struct usage *u, const char *stop);
/* A call of a tool and its result. A result without its call is a gap. @code: -1 = unknown. */
void import_call(struct import *im, const char *id, const char *name, const json_t *args);
void import_result(struct import *im, const char *id, const char *text, size_t len, bool failed,
		   int code);
/* Piece by piece: output of a call (stream of record.h), a new size of its terminal, a mark. */
void import_output(struct import *im, const char *id, int stream, const char *bytes, size_t len);
void import_resize(struct import *im, const char *id, int cols, int rows);
void import_mark(struct import *im, const char *text);
/* The current agent was ended from outside. @stop: of agent.end; @why: what the file says. */
void import_stop(struct import *im, const char *stop, const char *why);
/* Tokens and money that belong to no single answer. */
void import_spent(struct import *im, const struct usage *u);
void import_gap(struct import *im, size_t line, size_t bytes, const char *why);
void import_keep(struct import *im, size_t line, const char *type, const char *data, size_t len);

/* Calls @fn for each line that is a JSON value; the others become gaps. */
typedef void import_line_fn(void *self, struct import *im, size_t line, const json_t *value,
			    const char *text, size_t len);
NODISCARD int import_lines(struct import *im, FILE *in, import_line_fn *fn, void *self,
			   struct err *err);
/* The same of several files at once, line by line in the order of their "timestamp". */
struct import_source {
	FILE *in;
	void *self;
};
NODISCARD int import_sources(struct import *im, const struct import_source *source, size_t nr,
			     import_line_fn *fn, struct err *err);
/* The whole file as one JSON value; NULL and @err. */
json_t *import_document(FILE *in, struct err *err) NODISCARD;
/* JSON, also as Python writes it: NaN and Infinity, which JSON has not, become null. @what: in
 * words. NULL and @err. */
json_t *import_json(const char *text, size_t len, const char *what, struct err *err) NODISCARD;
/* A call for import_reply's list; a value other than an object counts as empty. Owned. And all
 * calls of such a list. */
json_t *import_call_of(const char *id, const char *name, const json_t *args);
void import_calls(struct import *im, const json_t *calls);
/* A sum of USD as micro-USD; -1 = unknown. */
int64_t import_uusd(const json_t *o, const char *key);
/* The text of a content that is a string or a list of parts with "text"; other parts are named
 * "[image]". Owned. */
char *import_text(const json_t *content);

#define IMPORTER(fn, name, about)                                                                  \
	int sniff_##fn(const char *head, size_t len);                                              \
	int import_##fn(struct import *im, FILE *in, struct err *err) NODISCARD;
#include "exchange/importers.def"
#undef IMPORTER

#endif
