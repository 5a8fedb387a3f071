/* The workspace's view of a sandbox: roots, files that the sandbox hid, plans, masks. */
#include <sys/statvfs.h>

#include "box_fixture.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "wire/plan.h"

struct job {
	struct box *b;
	void (*fn)(struct box *b, struct job *j);
	bool here;
	int rc;
	struct err err;
	struct buf text;
	json_t *list;
};

static void job_work(void *self)
{
	struct job *j = self;
	j->fn(j->b, j);
}

static void job_done(void *self)
{
	((struct job *)self)->here = true;
}

/* On a worker thread, as the workspace does it. */
static struct job on_worker(struct box *b, void (*fn)(struct box *, struct job *))
{
	struct job j = { .b = b, .fn = fn, .rc = -1 };
	loop_job_run(fx_loop, job_work, job_done, &j);
	fx_wait(&j.here);
	if (j.err.code)
		printf("# %s\n", j.err.text);
	return j;
}

static void read_hidden(struct box *b, struct job *j)
{
	CLEANUP(fd_close) int fd = b->driver->tree->open(b, 0, "upper", "hid/secret", &j->err);
	j->rc = fd < 0 ? -1 : fd_read_all(fd, &j->text, 1000, &j->err);
}

static void list_hidden(struct box *b, struct job *j)
{
	j->list = b->driver->tree->list(b, 0, "upper", "hid", &j->err);
	j->rc = j->list ? 0 : -1;
}

static void open_link(struct box *b, struct job *j)
{
	CLEANUP(fd_close) int fd = b->driver->tree->open(b, 0, "merged", "link", &j->err);
	j->rc = fd < 0 ? -1 : 0;
}

static void open_above(struct box *b, struct job *j)
{
	CLEANUP(fd_close) int fd = b->driver->tree->open(b, 0, "merged", "../w0", &j->err);
	j->rc = fd < 0 ? -1 : 0;
}

static void list_upper(struct box *b, struct job *j)
{
	j->list = b->driver->tree->list(b, 0, "upper", "", &j->err);
	j->rc = j->list ? 0 : -1;
}

static void list_lower(struct box *b, struct job *j)
{
	j->list = b->driver->tree->list(b, 0, "lower", "", &j->err);
	j->rc = j->list ? 0 : -1;
}

static void root_merged(struct box *b, struct job *j)
{
	CLEANUP(fd_close) int fd = b->driver->tree->root(b, 0, "merged", &j->err);
	struct stat st;
	j->rc = fd >= 0 && fstatat(fd, "a", &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -1;
}

static void apply(struct box *b, struct job *j)
{
	CLEANUP(buf_release) struct buf plan = BUF_INIT;
	CLEANUP(fd_close) int fd = memfd_create("t", MFD_CLOEXEC);
	j->rc = fd_write_all(fd, "0123456789", 10, &j->err);
	plan_begin(&plan);
#define P(s) .path = (s), .path_len = strlen(s)
#define T(s) .target = (s), .target_len = strlen(s)
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_FILE, P("a"), .mode = 0755, .fd = 0, .off = 2, .len = 3 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_DIR, P("d"), .mode = 0711 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_SYMLINK, P("d/s"), T("../a") });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_LINK, P("d/h"), T("a") });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_FIFO, P("d/f"), .mode = 0620 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_REMOVE, P("deep") });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_REMOVE, P("not/there") });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_CHMOD, P("run"), .mode = 0600 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_TIME, P("a"), .off = 1234567890123456 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_TIME, P("d/s"), .off = 2000000 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_TIME, P("not/there"), .off = 1 });
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_TIME, P("nor-here"), .off = 1 });
	if (j->rc == 0)
		j->rc = b->driver->tree->apply(b, 0, plan.data, plan.len, &fd, 1, &j->err);
}

static void apply_through_link(struct box *b, struct job *j)
{
	CLEANUP(buf_release) struct buf plan = BUF_INIT;
	plan_begin(&plan);
	plan_add(&plan, &(struct plan_op){ .kind = PLAN_DIR, P("out/x"), .mode = 0755 });
	j->rc = b->driver->tree->apply(b, 0, plan.data, plan.len, NULL, 0, &j->err);
}

static bool has_name(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_str(json_array_get(list, i), "name", ""), name) == 0)
			return true;
	return false;
}

static void what_the_box_hides(struct box *b)
{
	out_is(b,
	       "mkdir hid; echo found >hid/secret; ln -s secret hid/l; chmod 000 hid/secret hid; ls hid 2>/dev/null; "
	       "echo $?",
	       "2", "the box hides a file by chmod 000");
	struct job j = on_worker(b, read_hidden);
	is_int(j.rc, 0, "the keeper opens it");
	is_str(buf_cstr(&j.text), "found\n", "and it can be read");
	buf_release(&j.text);
	j = on_worker(b, list_hidden);
	is_int((int64_t)json_array_size(j.list), 2, "the keeper lists a folder of mode 0");
	is_str(json_str(json_array_get(j.list, 0), "target", ""), "secret", "links with their target");
	json_release(&j.list);
	out_is(b, "ln -s /etc/passwd link; ln -s /tmp out; echo ok", "ok", "links");
	is_int(on_worker(b, open_link).rc, -1, "a link is not followed out of the tree");
	is_int(on_worker(b, open_above).rc, -1, "nor is '..'");
	is_int(on_worker(b, root_merged).rc, 0, "the merged root is handed out");
}

static void plans(struct box *b)
{
	out_is(b, "mkdir -p deep/er/est; touch deep/er/x deep/er/est/y run; chmod 000 deep/er/est; echo ok", "ok",
	       "something to remove");
	is_int(on_worker(b, apply).rc, 0, "a plan is applied");
	out_is(b,
	       "cat a; stat -c '%a %h' a; stat -c %a d; readlink d/s; stat -c '%a %F' d/f; stat -c %a run; "
	       "stat -c %.6Y a; stat -c %Y d/s; ls -d deep 2>&1 | wc -l",
	       "234755 2\n711\n../a\n620 fifo\n600\n1234567890.123456\n2\n1", "the box sees all of it at once");
	is_int(on_worker(b, apply_through_link).rc, -1, "a plan never goes through a link");
	out_is(b, "ls /tmp | wc -l", "0", "nothing was made behind it");
}

static bool programs_may_run(void)
{
	struct statvfs v;
	return statvfs(fx_dir, &v) == 0 && !(v.f_flag & ST_NOEXEC);
}

static void own_writes(struct box *b)
{
	out_is(b, "echo after >>a; cat a", "234after", "a file is written");
	struct job j = on_worker(b, list_upper);
	ok(has_name(j.list, "a") && !has_name(j.list, "sub"), "the upper holds it, and nothing that was only read");
	json_release(&j.list);
	out_is(b, "echo kept >/home/agent/k; grep -c '^overlay /home/agent ' /proc/mounts; cat /home/agent/k",
	       programs_may_run() ? "0\nkept" : "1\nkept", "the home folder is its upper, which needs no overlay");
}

static void lower_and_masks(struct box *b, const json_t *result)
{
	struct job j = on_worker(b, list_lower);
	ok(has_name(j.list, "a"), "the lower is the repository");
	ok(!has_name(j.list, ".env"), "without what masks hide");
	json_release(&j.list);
	is_int((int64_t)json_array_size(json_object_get(result, "masked")), 3, "three paths are masked");
	out_is(b, "cat .env sub/key.pem 2>&1 | grep -c 'No such'", "2", "the box does not have them");
	out_is(b, "grep -c topsecret .git/config; git config remote.origin.url", "0\nhttps://example.org/x.git",
	       "git's configuration is there without the password");
	out_is(b, "stat -c '%a %Y' sub", "750 1000000", "the folder of a masked file keeps its mode and time");
}

int main(void)
{
	fx_start();
	fx_need_namespaces();
	CLEANUP(free_ptr) char *repo = fx_path("repo");
	CLEANUP(free_ptr) char *sub = fx_path("repo/sub");
	json_t *result = NULL;
	fx_file(repo, "a", "a\n", 0644);
	fx_file(repo, ".env", "KEY=topsecret\n", 0600);
	fx_file(repo, "sub/key.pem", "topsecret\n", 0600);
	fx_file(repo, ".git/config", "[remote \"origin\"]\n\turl = https://me:topsecret@example.org/x.git\n", 0644);
	fx_file(repo, ".git/HEAD", "ref: refs/heads/main\n", 0644);
	fx_file(repo, ".git/objects/x", "", 0644);
	fx_file(repo, ".git/refs/x", "", 0644);
	struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	ok(chmod(sub, 0750) == 0 && utimensat(AT_FDCWD, sub, times, 0) == 0, "a folder with a mode and a time");
	struct box *b = fx_box("tree", repo, &result);
	ok(b != NULL, "a box opens");
	if (b) {
		lower_and_masks(b, result);
		what_the_box_hides(b);
		plans(b);
		own_writes(b);
		ok(fx_close(b), "closed and empty");
	}
	json_release(&result);
	return fx_end();
}
