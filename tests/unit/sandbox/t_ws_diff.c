/* Diffs of recorded states: what git apply makes of the patch is what was in the box, byte for byte. */
#include "sandbox/workspace/diff.h"

#include "ws_box.h"

static const struct {
	const char *name, *before, *after;
} cases[] = {
	{ "a line changed", "seq 1 100 > f", "sed -i 's/^50$/fifty/' f" },
	{ "CRLF", "printf 'a\\r\\nb\\r\\nc\\r\\n' > f", "printf 'a\\r\\nB\\r\\nc\\r\\n' > f" },
	{ "mixed line ends", "printf 'a\\r\\nb\\nc\\r\\nd\\re\\n' > f", "printf 'a\\nb\\r\\nc\\r\\nd\\re\\n' > f" },
	{ "Latin-1", "printf 'caf\\351\\nna\\357ve\\n' > f", "printf 'caf\\351s\\nna\\357ve\\n' > f" },
	{ "no final newline before", "printf 'a\\nb' > f", "printf 'a\\nb\\n' > f" },
	{ "no final newline after", "printf 'a\\nb\\n' > f", "printf 'a\\nb' > f" },
	{ "no final newline on both sides", "printf 'a\\nb' > f", "printf 'a\\nc' > f" },
	{ "only the middle, none at the end", "printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9' > f", "printf '1\\nx\\n3\\n4\\n5\\n6\\n7\\n8\\n9' > f" },
	{ "emptied", "echo a > f", ": > f" },
	{ "filled", ": > f", "echo a > f" },
	{ "binary", "head -c 3000 /dev/zero > f", "head -c 2999 /dev/zero > f; printf x >> f" },
	{ "binary added and removed", "printf '\\0\\1' > f", "mv f old; rm old; printf '\\0\\2\\3' > g" },
	{ "an empty file", "true", ": > f" },
	{ "executable", "echo a > f", "chmod 755 f" },
	{ "executable and changed", "echo a > f", "chmod 755 f; echo b >> f" },
	{ "renamed", "seq 1 50 > f", "mkdir d; mv f d/g" },
	{ "renamed and changed", "seq 1 50 > f", "mv f g; echo more >> g" },
	{ "a link", "ln -s x l; echo f > f", "rm l; ln -s y l; ln -s f l2" },
	{ "a link becomes a file", "ln -s x l", "rm l; echo now > l" },
	{ "a directory becomes a file", "mkdir d; echo 1 > d/1; echo 2 > d/2", "rm -r d; echo d > d" },
	{ "names with blanks and quotes", "echo a > 'a b'; echo q > '\"q\"'", "echo b >> 'a b'; echo r >> '\"q\"'; echo t > 'tab\there'" },
	{ "names with newlines", "true", "printf x > \"$(printf 'new\\nline')\"" },
	{ "names that are not UTF-8", "echo x > \"$(printf '\\377\\376')\"", "echo y >> \"$(printf '\\377\\376')\"" },
	{ "names in other scripts", "echo x > 日本語", "echo y >> 日本語; echo z > ünïcödé" },
	{ "too big to show line by line", "seq 1 250000 > f", "sed -i 's/^777$/x/' f" },
	{ "lines with bytes of all kinds", "printf '\\001\\033[31m\\177\\200\\n' > f", "printf '\\001\\033[32m\\177\\200\\n' > f" },
};

static int load(struct ws_box *b, const json_t *body, struct ws_view *v)
{
	struct err err = ERR_INIT;
	int rc = ws_view_load(v, &b->store, body, &err);
	if (rc < 0)
		printf("# %s\n", err.text);
	return rc;
}

static void one(size_t i)
{
	struct ws_box b;
	struct err err = ERR_INIT;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "umask 022; %s", cases[i].before);
	box_open(&b, NULL);
	box_take(&b);
	sh_in(b.merged, "umask 022; %s", cases[i].after);
	box_take(&b);
	struct ws_view base = WS_VIEW_INIT, now;
	struct ws_diff d;
	struct buf patch = BUF_INIT;
	bool good = load(&b, b.body, &now) == 0 && ws_diff_views(&d, &base, &now, true, &b.store, &err) == 0 &&
		    ws_diff_patch(&d, &b.store, &patch, &err) == 0;
	char *file = mem_printf("%s/patch", b.dir);
	good = good && file_write_atomic(file, buf_cstr(&patch), patch.len, 0644, &err) == 0;
	good = good && sh_in(b.dir, "cp -a lower applied; cd applied; git apply --binary --whitespace=nowarn ../patch; cd ..;"
				    "diff -r --no-dereference applied merged; (cd applied; find . -type f -perm -100 | sort) > x1;"
				    "(cd merged; find . -type f -perm -100 | sort) > x2; cmp x1 x2") == 0;
	ok(good, "git apply: %s", cases[i].name);
	if (!good)
		printf("# %s\n%s\n", err.text, buf_cstr(&patch));
	json_t *j = ws_diff_json(&d, &b.store, true, &err);
	struct buf stat = BUF_INIT;
	ok(j && json_array_size(json_object_get(j, "files")) == d.nr && ws_diff_stat(&d, &b.store, &stat, &err) == 0,
	   "JSON and stat: %s", cases[i].name);
	json_decref(j);
	buf_release(&stat);
	ws_diff_release(&d);
	ws_view_release(&now);
	buf_release(&patch);
	free(file);
	box_end(&b);
}

/* Any two snapshots, not only neighbors: also over paths that one of them does not speak of. */
static void any_two(void)
{
	struct ws_box b;
	struct err err = ERR_INIT;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "echo 1 > one; echo 2 > two; mkdir d; echo 3 > d/three");
	box_open(&b, NULL);
	static const char *const step[] = { "true", "echo x >> one", "rm -r d", "echo 1 > one; echo n > new", "mkdir d; echo 3 > d/three; rm new" };
	json_t *body[ARRAY_LEN(step)];
	for (size_t i = 0; i < ARRAY_LEN(step); i++) {
		sh_in(b.merged, "umask 022; %s", step[i]);
		box_take(&b);
		body[i] = json_incref(b.body);
	}
	static const struct {
		size_t a, b;
		const char *want;
	} pair[] = { { 0, 0, "" }, { 0, 1, "Mone " }, { 1, 0, "Mone " }, { 0, 2, "Dd Dd/three Mone " }, { 2, 3, "Anew Mone " },
		     { 3, 4, "Ad Ad/three Dnew " }, { 0, 4, "" }, { 1, 4, "Mone " }, { 4, 2, "Dd Dd/three Mone " } };
	for (size_t i = 0; i < ARRAY_LEN(pair); i++) {
		struct ws_view x, y;
		struct ws_diff d;
		struct buf got = BUF_INIT;
		if (load(&b, body[pair[i].a], &x) < 0 || load(&b, body[pair[i].b], &y) < 0 ||
		    ws_diff_views(&d, &x, &y, false, NULL, &err) < 0)
			continue;
		for (size_t k = 0; k < d.nr; k++)
			buf_printf(&got, "%c%s ", d.item[k].op, d.item[k].path);
		char *what = mem_printf("from snapshot %zu to %zu", pair[i].a, pair[i].b);
		is_str(buf_cstr(&got), pair[i].want, what);
		free(what);
		buf_release(&got);
		ws_diff_release(&d);
		ws_view_release(&x);
		ws_view_release(&y);
	}
	for (size_t i = 0; i < ARRAY_LEN(step); i++)
		json_decref(body[i]);
	box_end(&b);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		one(i);
	any_two();
	return done_testing();
}
