#include "ui/rows/parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/watched.h"

struct list {
	struct part *part;
	size_t nr, cap;
	struct arena *arena;
};

static void parts_push(struct list *l, struct part p)
{
	if (l->nr == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 32;
		struct part *more = arena_alloc(l->arena, cap * sizeof(*more));
		if (l->nr)
			memcpy(more, l->part, l->nr * sizeof(*more));
		l->part = more;
		l->cap = cap;
	}
	p.who = "";
	l->part[l->nr++] = p;
}

static void parts_add_line(struct part *p, const struct diff_line *l)
{
	p->nr++;
	if (l->op == ' ' || l->op == '-')
		p->range[0] = p->range[1]++ ? p->range[0] : l->old_no - 1;
	if (l->op == ' ' || l->op == '+')
		p->range[2] = p->range[3]++ ? p->range[2] : l->new_no - 1;
}

/* The rows of one file; hunks only where some of them can be taken without the others. */
static void parts_add_file(struct list *l, struct source *s, const struct change *c, size_t file)
{
	struct text_diff d;
	size_t own = l->nr;
	parts_push(l, (struct part){ .file = file, .hunk = PART_WHOLE, .alone = true });
	if (c->op != 'M' || !c->counted || (c->new_mode & 0170000) != 0100000)
		return;
	change_diff(s, c, 3, l->arena, &d);
	uint32_t hunk = 0;
	for (size_t i = 0; !d.binary && i < d.nr; i++) {
		if (d.line[i].op == '@')
			parts_push(l, (struct part){ .file = file, .hunk = ++hunk, .line = i });
		else if (hunk)
			parts_add_line(&l->part[l->nr - 1], &d.line[i]);
	}
	l->part[own].alone = hunk == 0;
}

static const struct object_id *parts_content(const struct change *c)
{
	return c->op == 'D' ? &c->old : &c->new_;
}

/* --- what was said ---------------------------------------------------------------------------- */

/* One review.choice. */
struct word {
	uint64_t seq;
	int64_t ts_us;
	struct buf path, text;
	const json_t *body, *range;
	struct object_id of;
	bool bound; /* to the content @of; else to what the box had when it was said */
	int64_t hunk;
};

static bool same_range(const struct word *w, const struct part *p)
{
	for (size_t i = 0; i < 4; i++)
		if (json_integer_value(json_array_get(w->range, i)) != (int64_t)p->range[i])
			return false;
	return true;
}

static bool parts_means(const struct word *w, const struct part *p, const struct change *c,
			uint64_t snapshot)
{
	if (strcmp(buf_cstr(&w->path), c->path) != 0)
		return false;
	if (w->bound ? memcmp(w->of.b, parts_content(c)->b, sizeof(w->of.b)) != 0
		     : w->seq < snapshot)
		return false;
	if (w->range)
		return p->hunk != PART_WHOLE && same_range(w, p);
	return w->hunk == 0 || w->hunk == (int64_t)p->hunk;
}

static void parts_hear(const struct word *w, struct part *p, struct arena *a)
{
	const char *choice = json_str(w->body, "choice", NULL),
		   *comment = json_str(w->body, "comment", NULL);
	const char *who = json_str(json_object_get(w->body, "who"), "name", "somebody");
	if (comment) {
		p->comment = arena_strdup(a, comment);
		p->comment_by = arena_strdup(a, who);
	}
	if (!choice)
		return;
	p->choice = strcmp(choice, "take") == 0	   ? PART_TAKE
		    : strcmp(choice, "leave") == 0 ? PART_LEAVE
						   : PART_OPEN;
	p->said = w->seq;
	p->ts_us = w->ts_us;
	p->who = arena_strdup(a, who);
	p->text = json_object_get(w->body, "text")
			  ? arena_strndup(a, buf_cstr(&w->text), w->text.len)
			  : NULL;
	p->text_len = w->text.len;
}

static void parts_apply(struct list *l, const struct change *change, uint64_t snapshot,
			struct word *w)
{
	json_get_bytes(json_object_get(w->body, "path"), &w->path);
	json_get_bytes(json_object_get(w->body, "text"), &w->text);
	w->range = json_object_get(w->body, "range");
	w->hunk = json_int(w->body, "hunk", 0);
	w->bound = object_parse(json_str(w->body, "of", ""), &w->of);
	for (size_t i = 0; i < l->nr; i++)
		if (parts_means(w, &l->part[i], &change[l->part[i].file], snapshot))
			parts_hear(w, &l->part[i], l->arena);
}

static void read_words(struct list *l, struct source *s, const struct model_box *b,
		       const struct change *change)
{
	uint64_t snapshot = 0;
	for (size_t i = 0; i < b->nr_snapshots; i++)
		snapshot = b->snapshot[i].seq > snapshot ? b->snapshot[i].seq : snapshot;
	for (size_t i = 0; i < s->model.nr_choices; i++) {
		struct err err = ERR_INIT;
		struct event ev;
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		if (s->model.choice[i].box != b->id ||
		    session_event(s->session, s->model.choice[i].seq, &ev, &a, &err) < 0 ||
		    !ev.body)
			continue;
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &err);
		struct word w = { .seq = ev.seq, .ts_us = ev.ts_us, .body = body };
		parts_apply(l, change, snapshot, &w);
		buf_release(&w.path);
		buf_release(&w.text);
	}
}

size_t parts_list(struct source *s, uint64_t box, const struct change *change, size_t nr,
		  struct arena *a, struct part **out)
{
	struct list l = { .arena = a };
	const struct model_box *b = model_box(&s->model, box);
	for (size_t i = 0; i < nr; i++)
		parts_add_file(&l, s, &change[i], i);
	if (b)
		read_words(&l, s, b, change);
	*out = l.part;
	return l.nr;
}

/* --- words ------------------------------------------------------------------------------------ */

void part_word(const struct part *p, const struct change *c, struct buf *out)
{
	char hex[41];
	const uint32_t *r = p->range;
	object_hex(parts_content(c), hex);
	buf_printf(out, "%s:%s", c->path, hex);
	if (p->hunk == PART_WHOLE)
		return;
	buf_printf(out, "@%u,%u+%u,%u", r[0], r[1], r[2], r[3]);
	if (p->text) {
		buf_putc(out, '=');
		base64_append(out, p->text, p->text_len);
	}
}

static bool leads_out(struct source *s, const struct change *c)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	enum object_type type;
	return session_object(s->session, &c->new_, &type, &b, &err) == 0 &&
	       watched_link(c->path, strlen(c->path), buf_cstr(&b), b.len);
}

const char *change_flag(struct source *s, const struct change *c)
{
	const char *what = watched_path(c->path, strlen(c->path));
	if (what)
		return what;
	if (c->op != 'D' && (c->new_mode & 0170000) == 0120000)
		return leads_out(s, c) ? "link out of the tree" : "link";
	if (c->op != 'D' && (c->new_mode & 0111) && !(c->old_mode & 0111) &&
	    (c->new_mode & 0170000) == 0100000)
		return "executable";
	return c->note;
}

/* --- editing ---------------------------------------------------------------------------------- */

static const char parts_help[] =
	"# Edit, add, or remove lines that start with +. Lines that start with a blank or - are the current file:\n"
	"# keep them, but you can turn a blank into - and - into a blank. Lines with # are ignored. An empty file cancels.\n";

void part_edit_text(const struct text_diff *d, const struct part *p, struct buf *out)
{
	buf_puts(out, parts_help);
	for (size_t i = p->line + 1; i <= p->line + p->nr; i++) {
		const struct diff_line *l = &d->line[i];
		buf_putc(out, l->op);
		buf_append(out, l->text, l->len);
		buf_putc(out, '\n');
	}
}

/* The next line of the old content at or behind *@i. */
static const struct diff_line *old_line(const struct text_diff *d, const struct part *p, size_t *i)
{
	for (; *i <= p->line + p->nr; ++*i)
		if (d->line[*i].op == ' ' || d->line[*i].op == '-')
			return &d->line[*i];
	return NULL;
}

bool part_edited(const struct text_diff *d, const struct part *p, const char *text, struct buf *out,
		 const char **why)
{
	size_t at = p->line + 1;
	bool any = false;
	*why = "the edited hunk is empty";
	buf_reset(out);
	for (const char *next; *text; text = next) {
		size_t len = strcspn(text, "\n");
		next = text + len + (text[len] != 0);
		char op = len ? *text : ' '; /* editors take blanks at the end of a line away */
		const char *line = len ? text + 1 : text;
		len -= len > 0;
		if (op == '#')
			continue;
		any = true;
		if (op == '\\') { /* the line before has no end */
			if (out->len && out->data[out->len - 1] == '\n')
				out->data[--out->len] = 0;
			continue;
		}
		if (op != ' ' && op != '-' && op != '+') {
			*why = "a line must start with a blank, - or +";
			return false;
		}
		if (op != '+') {
			const struct diff_line *old = old_line(d, p, &at);
			if (!old || old->len != len || memcmp(old->text, line, len) != 0) {
				*why = "a line of the current file changed: edit only lines that start with +";
				return false;
			}
			at++;
		}
		if (op != '-') {
			buf_append(out, line, len);
			buf_putc(out, '\n');
		}
	}
	if (any && old_line(d, p, &at)) {
		*why = "lines of the current file are missing: to remove one, start it with -";
		return false;
	}
	return any;
}

bool part_own_diff(const struct text_diff *d, const struct part *p, struct arena *a,
		   struct text_diff *out)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT;
	if (!p->text)
		return false;
	for (size_t i = p->line + 1; i <= p->line + p->nr; i++) {
		const struct diff_line *l = &d->line[i];
		if (l->op != ' ' && l->op != '-')
			continue;
		buf_append(&old, l->text, l->len);
		if (i == p->line + p->nr || d->line[i + 1].op != '\\')
			buf_putc(&old, '\n');
	}
	diff_texts(arena_strndup(a, buf_cstr(&old), old.len), old.len, p->text, p->text_len, 1000,
		   a, out);
	return true;
}
