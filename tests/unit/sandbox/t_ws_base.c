/* Listing, drift and contents of the base. */
#include "sandbox/workspace/base.h"

#include <utime.h>

#include "ws_box.h"

static bool touched(void *self, const char *path, size_t len)
{
	return ws_touched(self, path, len);
}

static const char *drift_list(json_t *body, struct buf *out)
{
	size_t i;
	json_t *c;
	buf_reset(out);
	json_array_foreach(json_object_get(body, "changes"), i, c)
		buf_printf(out, "%s:%s>%s%s ", json_str(c, "path", "?"), json_str(c, "was", "?"), json_str(c, "now", "?"),
			   json_flag(c, "touched", false) ? "!" : "");
	return buf_cstr(out);
}

static void drift(void)
{
	struct ws_box b;
	struct base *base;
	struct err err = ERR_INIT;
	struct buf out = BUF_INIT;
	json_t *body = NULL;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "mkdir -p src .git; echo 1 > src/a; echo 2 > src/b; echo 3 > c; echo x > .git/index");
	box_open(&b, NULL);
	box_take(&b);
	is_int(base_list(&base, ws_lower_fd(b.ws), getuid(), &err), 0, "listed");
	is_int(base_count(base), 6, "six entries");
	body = base_body(base);
	is_int(json_int(body, "files", 0), 4, "four files");
	json_decref(body);
	is_int(base_drift(base, ws_lower_fd(b.ws), touched, b.ws, &body, &err), 0, "no drift");
	sh_in(b.merged, "echo box >> src/a");
	box_take(&b);
	sh_in(b.lower, "echo user >> src/a; rm c; echo new > d; echo y > .git/index");
	is_int(base_drift(base, ws_lower_fd(b.ws), touched, b.ws, &body, &err), 1, "the user works meanwhile");
	is_str(drift_list(body, &out), "c:listed>absent d:absent>other src/a:listed>other! ", "each path, and whether the sandbox touched it");
	json_decref(body);
	is_int(base_drift(base, ws_lower_fd(b.ws), touched, b.ws, &body, &err), 0, "drift is reported once");
	ok(base_drifted(base, "src/a", 5) && !base_drifted(base, "src/b", 5), "and remembered");
	sh_in(b.lower, "echo more >> d");
	is_int(base_drift(base, ws_lower_fd(b.ws), touched, b.ws, &body, &err), 1, "and again after new changes");
	is_str(drift_list(body, &out), "d:listed>other ", "with the new paths only");
	json_decref(body);
	buf_release(&out);
	base_free(&base);
	box_end(&b);
}

static void contents(void)
{
	struct ws_box b;
	struct base *base;
	struct err err = ERR_INIT;
	json_t *body = NULL;
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "umask 022; git init -q .; mkdir -p a/b; echo 1 > a/b/1; echo 2 > a.b; ln -s x l; echo s > s.sh; chmod 755 s.sh;"
			"printf x > \"$(printf '\\377\\n')\"; git add -A; git write-tree > ../tree");
	box_open(&b, NULL);
	char *tree = mem_printf("%s/tree", b.dir), *cache = mem_printf("%s/oids", b.dir);
	struct buf want = BUF_INIT;
	is_int(file_read(tree, &want, 100, &err), 0, "git's own tree");
	if (want.len > 40)
		want.data[40] = 0;
	is_int(base_list(&base, ws_lower_fd(b.ws), getuid(), &err), 0, "listed");
	is_int(base_hash(base, ws_lower_fd(b.ws), &b.store, cache, NULL, NULL, &body, &err), 0, "hashed");
	is_str(json_str(body, "tree", ""), buf_cstr(&want), "the tree has the name that git gives it");
	is_int(json_int(body, "cached", -1), 0, "nothing was known before");
	json_decref(body);
	is_int(base_hash(base, ws_lower_fd(b.ws), &b.store, cache, NULL, NULL, &body, &err), 0, "hashed again");
	is_int(json_int(body, "cached", -1), json_int(body, "files", -2), "all from the cache");
	is_str(json_str(body, "tree", ""), buf_cstr(&want), "with the same result");
	json_decref(body);

	struct stat st;
	ok(stat(cache, &st) == 0 && truncate(cache, st.st_size - 30) == 0, "the cache loses half a record");
	struct oid_cache *c = oid_cache_open(cache);
	is_int(oid_cache_count(c), 4, "the others are good");
	oid_cache_close(&c);
	int fd = open(cache, O_WRONLY | O_CLOEXEC);
	ok(pwrite(fd, "XXXX", 4, 20) == 4, "a record is damaged");
	close(fd);
	c = oid_cache_open(cache);
	is_int(oid_cache_count(c), 0, "nothing from there on is believed");
	oid_cache_close(&c);
	is_int(base_hash(base, ws_lower_fd(b.ws), &b.store, cache, NULL, NULL, &body, &err), 0, "hashed once more");
	is_str(json_str(body, "tree", ""), buf_cstr(&want), "and right");
	json_decref(body);
	base_free(&base);
	buf_release(&want);
	free(tree);
	free(cache);
	box_end(&b);
}

int main(void)
{
	drift();
	contents();
	return done_testing();
}
