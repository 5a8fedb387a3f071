/* Going back: from any recorded state to any other, through the merged view and in a copy. */
#include "sandbox/workspace/apply.h"

#include "wire/plan.h"
#include "ws_box.h"

static const char *const steps[] = {
	"echo 1 > new; mkdir -p n/n; echo 2 > n/n/f",
	"rm README src/link; mkdir README src/link; echo in > README/file",
	"rm -r doc README; echo back > README; echo x >> src/a.c",
	"mkdir doc; echo other > doc/one; mkfifo pipe; ln -s new l",
	"rm -r src; echo now-a-file > src",
	"rm src new; mkdir -p src/deep/er; echo a > src/a.c; chmod 600 README; chmod 700 lib",
	"rm -rf lib; printf 'x' > \"$(printf '\\377\\n')\"; mkdir -p '.git'; echo ref > .git/HEAD",
	"rm -rf * .git",
	"mkdir doc; echo d > doc/one; echo 1 > new; chmod 4755 new",
};
enum { STEPS = ARRAY_LEN(steps) };

/* Brings the box to the recorded state @want; true if a snapshot afterwards says that it is there. */
static bool go(struct ws_box *b, const json_t *want)
{
	struct err err = ERR_INIT;
	struct ws_view now, to, then;
	struct ws_diff d, rest;
	struct ws_plan p;
	size_t done, left = 1;
	CLEANUP(fd_close) int root = open(b->merged, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ws_view_load(&now, &b->store, b->body, &err) < 0 || ws_view_load(&to, &b->store, want, &err) < 0 ||
	    ws_diff_views(&d, &now, &to, false, NULL, &err) < 0 ||
	    ws_plan_make(&p, &d, &b->store, ws_lower_fd(b->ws), false, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	bool good = p.missing.nr == 0 && plan_run(root, buf_cstr(&p.plan), p.plan.len, p.fd, p.nr_fds, &done, &err) == 0;
	box_take(b);
	if (good && ws_view_load(&then, &b->store, b->body, &err) == 0) {
		good = ws_diff_views(&rest, &then, &to, false, NULL, &err) == 0;
		left = rest.nr;
		for (size_t i = 0; i < rest.nr; i++) /* set-uid bits are not put back */
			if (rest.item[i].op == 'm' && (rest.item[i].was.mode & 01777) == (rest.item[i].now.mode & 01777))
				left--;
			else
				printf("# still %c %s %o %o\n", rest.item[i].op, rest.item[i].path, rest.item[i].was.mode,
				       rest.item[i].now.mode);
		ws_diff_release(&rest);
		ws_view_release(&then);
	}
	if (!good)
		printf("# %s\n", err.text);
	ws_plan_release(&p);
	ws_diff_release(&d);
	ws_view_release(&now);
	ws_view_release(&to);
	return good && left == 0 && oracle(b);
}

static void back_and_forth(bool copy)
{
	struct ws_box b;
	json_t *body[STEPS + 1];
	if (!box_init(&b, copy))
		return;
	sh_in(b.lower, "umask 022; mkdir -p src/deep doc/sub lib/x; echo a > src/a.c; echo b > src/deep/b.c; echo r > README;"
			"echo d > doc/one; echo e > doc/sub/two; echo l > lib/x/l; ln -s a.c src/link");
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	body[0] = json_incref(b.body);
	for (size_t i = 0; i < STEPS; i++) {
		sh_in(b.merged, "umask 022; %s", steps[i]);
		box_take(&b);
		body[i + 1] = json_incref(b.body);
	}
	int bad = 0;
	srand(3);
	for (int i = 0; i < 60; i++) {
		size_t to = i <= (int)STEPS ? STEPS - (size_t)i : (size_t)rand() % (STEPS + 1);
		if (!go(&b, body[to])) {
			printf("# to %zu\n", to);
			bad++;
		}
	}
	is_int(bad, 0, copy ? "copy: 60 rollbacks to recorded states" : "overlay: 60 rollbacks to recorded states");
	for (size_t i = 0; i <= STEPS; i++)
		json_decref(body[i]);
	box_end(&b);
}

static void names(struct ws_diff *d, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < d->nr; i++)
		buf_printf(out, "%c%s ", d->item[i].op, d->item[i].path);
}

static void undo(void)
{
	struct ws_box b;
	struct err err = ERR_INIT;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "echo 1 > one; echo 2 > two; echo 3 > three");
	box_open(&b, NULL);
	static const char *const step[] = { "true", "echo x >> one; echo y >> two; echo new > four", "echo z >> two; rm three" };
	json_t *body[3];
	struct ws_view v[3];
	for (size_t i = 0; i < 3; i++) {
		sh_in(b.merged, "%s", step[i]);
		box_take(&b);
		body[i] = json_incref(b.body);
		is_int(ws_view_load(&v[i], &b.store, body[i], &err), 0, "state");
	}
	struct ws_diff d;
	struct strv conflicts = STRV_INIT;
	struct buf out = BUF_INIT;
	is_int(ws_diff_undo(&d, &v[0], &v[1], &v[2], NULL, &conflicts, &err), 0, "undo of the second step");
	names(&d, &out);
	is_str(buf_cstr(&out), "Dfour Mone ", "takes back what nobody has touched since");
	is_int(conflicts.nr, 1, "one path has changed since");
	is_str(conflicts.nr ? conflicts.item[0] : "", "two", "and is left alone");
	ws_diff_release(&d);
	strv_release(&conflicts);
	is_int(ws_diff_views(&d, &v[2], &v[0], false, NULL, &err), 0, "all the way back");
	char *paths[] = { (char[]){ "three" } };
	is_int(ws_diff_only(&d, paths, (size_t[]){ 5 }, 1, &err), 0, "one path only");
	names(&d, &out);
	is_str(buf_cstr(&out), "Athree ", "is all that changes");
	ws_diff_release(&d);
	buf_release(&out);
	for (size_t i = 0; i < 3; i++) {
		json_decref(body[i]);
		ws_view_release(&v[i]);
	}
	box_end(&b);
}

static void missing(void)
{
	struct ws_box b;
	struct err err = ERR_INIT;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "mkdir node_modules; echo base > node_modules/x; head -c 100000 /dev/urandom > node_modules/big");
	box_open(&b, NULL);
	box_take(&b);
	sh_in(b.merged, "echo changed > node_modules/x; rm node_modules/big; echo added > node_modules/y");
	box_take(&b);
	json_t *second = json_incref(b.body);
	ok(json_flag(json_array_get(json_object_get(second, "changes"), 0), "hash_only", false) ||
		   json_flag(json_array_get(json_object_get(second, "changes"), 1), "hash_only", false),
	   "node_modules is hash only");
	ok(memstore_bytes(b.mem) < 5000, "its bytes are not kept");
	struct ws_view base = WS_VIEW_INIT, now;
	struct ws_diff d;
	struct ws_plan p;
	size_t done;
	ok(ws_view_load(&now, &b.store, second, &err) == 0 && ws_diff_views(&d, &now, &base, false, NULL, &err) == 0 &&
		   ws_plan_make(&p, &d, &b.store, ws_lower_fd(b.ws), false, &err) == 0,
	   "back to the base");
	is_int(p.missing.nr, 0, "nothing is missing: the base still has it");
	CLEANUP(fd_close) int root = open(b.merged, O_PATH | O_DIRECTORY | O_CLOEXEC);
	is_int(plan_run(root, buf_cstr(&p.plan), p.plan.len, p.fd, p.nr_fds, &done, &err), 0, "it runs");
	is_int(sh_in(b.dir, "diff -r lower merged"), 0, "and everything is as it was");
	ws_plan_release(&p);
	ws_diff_release(&d);
	box_take(&b);
	ok(ws_diff_views(&d, &base, &now, false, NULL, &err) == 0 &&
		   ws_plan_make(&p, &d, &b.store, ws_lower_fd(b.ws), false, &err) == 0,
	   "forward again");
	is_int(p.missing.nr, 2, "what the box wrote there is held nowhere, and said so");
	ws_plan_release(&p);
	ws_diff_release(&d);
	ws_view_release(&now);
	json_decref(second);
	box_end(&b);
}

int main(void)
{
	if (!own_mounts())
		printf("# no mount namespace of our own: overlays will be skipped\n");
	back_and_forth(true);
	back_and_forth(false);
	undo();
	missing();
	return done_testing();
}
