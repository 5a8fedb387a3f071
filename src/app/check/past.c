#include "app/check/past.h"

#include <stdlib.h>
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/front/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/row.h"
#include "query/sql.h"

enum { PAGE = 512 };

int past_sessions(struct cmd_ctx *ctx, size_t from, struct past *out, struct err *err)
{
	struct session_files files = SESSION_FILES_INIT;
	*out = (struct past){ .paths = STRV_INIT };
	for (size_t i = from; cmd_word(ctx, i); i++) {
		CLEANUP(free_ptr) char *path = NULL;
		if (session_find(ctx->sessions, cmd_word(ctx, i), &path, err) < 0) {
			past_release(out);
			return -1;
		}
		strv_push(&out->paths, path);
	}
	if (cmd_word(ctx, from))
		return 0;
	if (session_files_list(&files, ctx->sessions, err) < 0)
		return -1;
	for (size_t i = files.nr; i-- > 0;)
		strv_push(&out->paths, files.item[i].path);
	session_files_release(&files);
	return out->paths.nr ? 0 : err_set(err, ERR_NOENT, "no sessions in '%s' yet: 'sandglass demo' makes one", ctx->sessions);
}

void past_release(struct past *p)
{
	strv_release(&p->paths);
}

static int one(struct session *s, uint64_t seq, past_fn *fn, void *self, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	CLEANUP(json_release) json_t *row = NULL;
	CLEANUP(json_release) json_t *body = NULL;
	int rc = session_event(s, seq, &ev, &arena, err);
	if (rc == 0 && ev.kind == EV_ACTION_REQUESTED) {
		body = ev.body ? json_parse(ev.body, ev.len, "event", err) : NULL;
		rc = (body || !ev.body) && row_of(s, seq, &row, err) == 0 ?
			     fn(self, &(struct past_action){ .s = s, .id = seq, .requested = body, .row = row }, err) :
			     -1;
	}
	arena_release(&arena);
	return rc;
}

int past_each(struct session *s, const char *text, past_fn *fn, void *self, struct err *err)
{
	struct filter *f = NULL;
	uint64_t seqs[PAGE], at = 0;
	size_t nr = PAGE;
	if (cmd_filter_text(text ? text : "", &f, err) < 0)
		return -1;
	int rc = 0;
	while (rc == 0 && nr == PAGE) {
		rc = filter_search(f, s, clock_wall_us(), at, PAGE, seqs, &nr, err);
		for (size_t i = 0; rc == 0 && i < nr; i++) {
			rc = one(s, seqs[i], fn, self, err);
			at = seqs[i];
		}
	}
	filter_free(&f);
	return rc;
}

int past_held(struct session *s, past_fn *fn, void *self, struct err *err)
{
	static const char held[] = "SELECT DISTINCT action FROM event NOT INDEXED WHERE kind=102 AND action>0 ORDER BY action";
	struct sql_table t;
	int rc = 0;
	if (sql_own(s, held, SIZE_MAX, &t, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < t.rows; i++)
		rc = one(s, strtoull(t.cell[i], NULL, 10), fn, self, err);
	sql_table_release(&t);
	return rc;
}

int past_all(struct cmd_ctx *ctx, struct past *p, const char *filter, past_fn *fn, void *self, struct err *err)
{
	struct filter *f = NULL;
	if (filter && cmd_filter_text(filter, &f, err) < 0) /* said once, not for each file */
		return -1;
	filter_free(&f);
	for (size_t i = 0; i < p->paths.nr; i++) {
		struct session *s = NULL;
		struct err why = ERR_INIT;
		if (session_open(&s, p->paths.item[i], &why) < 0 || past_each(s, filter, fn, self, &why) < 0) {
			p->unread++;
			fprintf(ctx->err, "sandglass: left out: ");
			cmd_print_safe(ctx->err, why.text, strlen(why.text), false);
			fputc('\n', ctx->err);
		}
		session_close(&s);
	}
	return 0;
}
