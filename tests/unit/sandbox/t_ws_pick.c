/* Taking a part of a change: words to choices, hunks and ranges to contents, and a real merge of them. */
#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/pick.h"
#include "ws_merge.h"

#define REPO "mkdir repo; cd repo; git init -q -b main .; "
#define COMMIT "git add -A; git commit -qm base; "

static void words(void)
{
	static const struct {
		const char *word;
		size_t nr, ranges; /* 0, 0: refused */
	} c[] = {
		{ "a.c:1", 1, 0 },
		{ "a.c:3,1,5-7,6", 5, 0 },
		{ "odd:name:2", 1, 0 },
		{ "a.c:da39a3ee5e6b4b0d3255bfef95601890afd80709@0,3+0,4@9,1+10,0", 0, 2 },
		{ "a.c", 0, 0 },
		{ ":1", 0, 0 },
		{ "a.c:", 0, 0 },
		{ "a.c:0", 0, 0 },
		{ "a.c:3-1", 0, 0 },
		{ "a.c:1,", 0, 0 },
		{ "a.c:1 2", 0, 0 },
		{ "a.c:99999999999999999999", 0, 0 },
		{ "a.c:1-4294967295", 0, 0 },
		{ "a.c:beef@0,1+0,1", 0, 0 },
		{ "a.c:da39a3ee5e6b4b0d3255bfef95601890afd80709@5,2+5,2@6,1+9,1", 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct pick p = PICK_INIT;
		struct err err = ERR_INIT;
		int rc = pick_hunks(&p, c[i].word, &err);
		is_int(rc, c[i].nr || c[i].ranges ? 0 : -1, c[i].word);
		if (rc == 0) {
			is_int(p.file[0].nr, c[i].nr, "hunks");
			is_int(p.file[0].nr_ranges, c[i].ranges, "ranges");
		}
		pick_release(&p);
	}
}

static uint32_t rnd(uint32_t *s)
{
	*s = *s * 1664525 + 1013904223;
	return *s >> 8;
}

/* A text of up to 60 lines of few different kinds, and one that differs from it here and there. */
static void two_texts(uint32_t *s, struct buf *old, struct buf *new)
{
	const char *end = rnd(s) % 4 ? "\n" : "\r\n";
	unsigned lines = rnd(s) % 60;
	for (unsigned i = 0; i < lines; i++) {
		unsigned w = rnd(s) % 30, what = rnd(s) % 12;
		buf_printf(old, "%u%s", w, end);
		if (what == 0)
			buf_printf(new, "%u%s", w + 100, end);
		if (what == 1)
			buf_printf(new, "x%s%u%s", end, w, end);
		if (what > 2)
			buf_printf(new, "%u%s", w, end);
	}
	if (rnd(s) % 3 == 0 && old->len)
		old->len--, old->data[old->len] = 0;
	if (rnd(s) % 3 == 0 && new->len)
		new->len--, new->data[new->len] = 0;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(buf_cstr(a), buf_cstr(b), a->len) == 0;
}

/* The accepted and the rejected hunks together are the change, in either order, by numbers and by ranges. */
static void property(void)
{
	uint32_t s = 7;
	size_t bad_all = 0, bad_none = 0, bad_rest = 0, bad_range = 0, split = 0;
	for (int round = 0; round < 2000; round++) {
		struct buf old = BUF_INIT, new = BUF_INIT, some = BUF_INIT, got = BUF_INIT, part = BUF_INIT;
		struct ws_patch p, q;
		struct err err = ERR_INIT;
		two_texts(&s, &old, &new);
		if (ws_patch_buffers(&p, buf_cstr(&old), old.len, buf_cstr(&new), new.len, 3, &err) < 0)
			continue;
		unsigned *left = mem_calloc(p.nr + 1, sizeof(*left));
		struct merge_range *range = mem_calloc(p.nr + 1, sizeof(*range));
		size_t nr_left = 0, nr = 0;
		for (unsigned i = 1; i <= p.nr; i++) {
			const struct patch_hunk *h = &p.hunk[i - 1];
			if (rnd(&s) % 2)
				left[nr_left++] = i;
			else
				range[nr++] = (struct merge_range){ h->old_lines ? h->old_start - 1 : h->old_start, h->old_lines,
								    h->new_lines ? h->new_start - 1 : h->new_start, h->new_lines, NULL, 0 };
		}
		merge_take_hunks(&p, NULL, 0, &got);
		bad_all += !same(&got, &new);
		merge_take_hunks(&p, left, nr_left, &some);
		if (nr_left == p.nr)
			bad_none += !same(&some, &old);
		bad_range += !merge_take_ranges(&old, &new, range, nr, &part) || !same(&part, &some);
		split += nr && nr_left;
		/* the rest stays as a difference, and leads to the whole */
		if (ws_patch_buffers(&q, buf_cstr(&some), some.len, buf_cstr(&new), new.len, 3, &err) == 0) {
			bad_rest += (nr_left == 0) != (q.nr == 0);
			merge_take_hunks(&q, NULL, 0, &got);
			bad_rest += !same(&got, &new);
			ws_patch_release(&q);
		}
		ws_patch_release(&p);
		free(left);
		free(range);
		buf_release(&old);
		buf_release(&new);
		buf_release(&some);
		buf_release(&got);
		buf_release(&part);
	}
	is_int(bad_all, 0, "all hunks are the whole change");
	is_int(bad_none, 0, "no hunk is the base");
	is_int(bad_range, 0, "ranges and numbers give the same result");
	is_int(bad_rest, 0, "the rejected hunks remain as the difference");
	ok(split > 200, "both kinds occur: %zu", split);
}

static void bounds(void)
{
	struct buf old = BUF_INIT, new = BUF_INIT, out = BUF_INIT;
	buf_puts(&old, "1\n2\n3");
	buf_puts(&new, "1\nx");
	ok(!merge_take_ranges(&old, &new, &(struct merge_range){ 4, 1, 0, 1, NULL, 0 }, 1, &out), "behind the end of the old one");
	ok(!merge_take_ranges(&old, &new, &(struct merge_range){ 0, 1, 0, 3, NULL, 0 }, 1, &out), "behind the end of the new one");
	ok(!merge_take_ranges(&old, &new, &(struct merge_range){ 1, 1, 1, 1, NULL, 0 }, 1, &out), "lines are not run together");
	ok(merge_take_ranges(&old, &new, &(struct merge_range){ 1, 2, 1, 1, NULL, 0 }, 1, &out), "an open end at the end");
	is_str(buf_cstr(&out), "1\nx", "is kept");
	ok(merge_take_ranges(&old, &new, &(struct merge_range){ 1, 1, 1, 1, "own\nlines\n", 10 }, 1, &out),
	   "what a person wrote takes the place of the new lines");
	is_str(buf_cstr(&out), "1\nown\nlines\n3", "and of nothing else");
	ok(merge_take_ranges(&old, &new, &(struct merge_range){ 1, 1, 1, 1, "", 0 }, 1, &out), "or removes them");
	is_str(buf_cstr(&out), "1\n3", "all of them");
	ok(!merge_take_ranges(&old, &new, &(struct merge_range){ 1, 1, 1, 1, "own", 3 }, 1, &out),
	   "its lines are not run together either");
	buf_release(&old);
	buf_release(&new);
	buf_release(&out);
}

static int merge_some(struct merge_box *m, const char *const *hunks, const char *path, struct merge_result *r, struct err *err)
{
	struct pick p = PICK_INIT;
	struct merge_choices c = { 0 };
	int rc = 0;
	if (path)
		strv_push(&p.paths, path);
	for (; rc == 0 && hunks && *hunks; hunks++)
		rc = pick_hunks(&p, *hunks, err);
	if (rc == 0)
		rc = pick_choices(&p, "", &m->view, &m->b.store, &c, err);
	if (rc == 0)
		rc = pick_check(&p, err);
	m->target.choice = c.item;
	m->target.nr_choices = c.nr;
	if (rc == 0)
		rc = merge_run(&m->o, r, err);
	merge_choices_release(&c);
	pick_release(&p);
	return rc;
}

static void merged(void)
{
	struct merge_box m;
	struct merge_result r;
	struct err err = ERR_INIT;
	bool good = merge_init(&m, REPO "seq 40 > f; echo g > g; printf 'a\\0' > bin; printf 'a\\r\\nb\\r\\n' > dos; echo s > s; " COMMIT, "repo",
			       "sed -i 's/^5$/five/; s/^20$/twenty/; s/^35$/thirtyfive/' f; echo x >> g; echo n > n; printf 'b\\0' > bin;"
			       "printf 'a\\r\\nB\\r\\n' > dos; chmod +x s; git mv g moved");
	static const char *const bad[][2] = { { "f:4" }, { "bin:1" }, { "s:1" }, { "nothere:1" },
					      { "f:da39a3ee5e6b4b0d3255bfef95601890afd80709@0,1+0,1" } };
	static const char *const said[] = { "'f' has 3 hunks; hunk 4 not found", "'bin' has no hunks; name the whole file with --path",
					    "'s' has no hunks; name the whole file with --path", "--hunks: 'nothere' has not changed",
					    "'f' has changed since it was shown; review it again" };
	for (size_t i = 0; good && i < ARRAY_LEN(bad); i++) {
		err = ERR_INIT;
		is_int(merge_some(&m, (const char *[]){ bad[i][0], NULL }, NULL, &r, &err), -1, bad[i][0]);
		is_str(err.text, said[i], "is refused");
	}
	err = ERR_INIT;
	is_int(good ? merge_some(&m, (const char *[]){ "f:1,3", "dos:1", NULL }, "s", &r, &err) : -1, 0, "two hunks, a DOS file, a mode");
	ok(sh_in(m.b.lower, "grep -qx five f && grep -qx 20 f && grep -qx thirtyfive f && test -x s && test $(tr -cd '\\r' < dos | wc -c) = 2 &&"
			    "grep -q B dos && test \"$(cat g)\" = g && test ! -e moved && test ! -e n && test \"$(git status --porcelain | wc -l)\" = 3") == 0,
	   "nothing else is accepted");
	merge_result_release(&r);
	m.o.id = "00c0ffef";
	err = ERR_INIT;
	is_int(merge_some(&m, NULL, NULL, &r, &err), 0, "the rest afterwards");
	ok(r.done && sh_in(m.b.lower, "grep -qx twenty f && test -e n && test -e moved && test ! -e g") == 0, "is merged over it");
	merge_result_release(&r);
	merge_end(&m);
}

int main(void)
{
	words();
	property();
	bounds();
	merged();
	return done_testing();
}
