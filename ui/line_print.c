/* Part of line.c: whole recordings as lines, and as screens. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/line_priv.h"
#include "ui/frame/claimed.h"
#include "ui/rows/outcome.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"

/* As time went: each event after its pause. */
static int print_slowly(struct line *l, const struct line_opts *o, struct err *err)
{
	struct event ev[64];
	uint64_t at = l->s->model.head;
	int64_t last = 0;
	for (size_t nr = 1; nr > 0;) {
		if (session_headers(l->s->session, at, ev, ARRAY_LEN(ev), &nr, err) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++) {
			int64_t gap = last ? ev[i].ts_us - last : 0;
			at = ev[i].seq;
			last = ev[i].ts_us;
			if (o->to && at > o->to)
				return 0;
			gap = gap < 0 ? 0 : gap > TRACK_IDLE_US ? TRACK_IDLE_US : gap;
			if (gap > 0)
				usleep((useconds_t)(gap * o->den / o->num));
			if (line_sync(l, at, err) < 0)
				return -1;
		}
	}
	return 0;
}

static void print_outcome(struct source *s, const struct line_opts *o)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct outcome how = { .model = &s->model, .unmerged = -1 };
	json_t *claims = NULL;
	claimed_wait(o->claims, &claims, &how.unmerged);
	how.claims = claims;
	outcome_long(&how, &text);
	json_decref(claims);
	char *save = NULL;
	for (char *line = strtok_r((char *)(uintptr_t)buf_cstr(&text), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		line_print_safe(o->out, line);
		fputc('\n', o->out);
	}
}

int line_print(const struct line_opts *o, struct err *err)
{
	struct source *s = NULL;
	if (source_open(&s, o->path, err) < 0)
		return -1;
	if (o->from > 0)
		source_seek(s, o->from);
	struct line *l = line_new(s, NULL, o->out, o->json, false);
	int rc = o->num > 0 ? print_slowly(l, o, err) : line_sync(l, o->to, err);
	line_free(&l);
	if (rc == 0 && !o->json && !o->to && !session_live(s->session))
		print_outcome(s, o);
	source_close(&s);
	return rc;
}

static void dump_screens(struct ui *ui, FILE *out)
{
	static const char *const views[] = { "fleet", "agent", "log" };
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		const struct model *m = &ui->src[0]->model;
		fprintf(out, "# event %" PRIu64 " %s\n", m->head, views[i]);
		ui_open(ui, views[i],
			&(struct subject){ .agent = m->nr_agents ? m->agent[0].id : 0 });
		ui_draw(ui);
		term_dump(&ui->grid, out);
		if (ui->depth > 1)
			ui_back(ui);
	}
}

int line_dump(const char *path, uint64_t from, uint64_t to, bool follow, FILE *out, struct err *err)
{
	struct source *s = NULL;
	struct ui ui;
	uint64_t seq = from;
	if (source_open(&s, path, err) < 0)
		return -1;
	ui_init(&ui, &s, NULL, 1, 36, 120, false);
	for (;;) {
		/* asked first: all events written before the end are then visible */
		bool live = follow && session_live(s->session);
		uint64_t head = session_head(s->session);
		while (seq < head && (to == 0 || seq < to)) {
			ui.limit = ++seq;
			ui_sync(&ui);
			dump_screens(&ui, out);
		}
		if (!live || s->model.ended || (to && seq >= to))
			break;
		usleep(2000);
	}
	ui_release(&ui);
	source_close(&s);
	return 0;
}
