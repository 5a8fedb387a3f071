#include "launcher/service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "wire/frame.h"
#include "wire/keeper.h"
#include "wire/launch.h"

enum { SPARES_LOST_MAX = 3 }; /* in a row; after that no spare is made */

struct started {
	pid_t pid;
	uint64_t box; /* 0: a host */
	struct cgroup *cgroup;
	uid_t own_uid; /* profile reduced: every process of it is the box's */
	bool spare;    /* has no box yet; nobody else knows of it */
	bool ended;    /* waiting for its cgroup to be empty */
	int status, tries;
};

struct service {
	int channel;
	struct who who;
	struct trees *trees;
	struct cgroups *cgroups;
	int keeper, guest;	  /* the programs, opened before anybody can swap them */
	struct keeper_want want;  /* of the spare; no filters: no spare was requested */
	struct keeper_made spare; /* pid 0: not there */
	int spares_lost;	  /* that died before they were used */
	struct started *item;
	size_t nr, cap;
};

struct request {
	const struct frame *f;
	const json_t *body;
	int *fds;
	size_t nr_fds;
};
struct answer {
	json_t *body; /* owned */
	int fds[FD_PASS_MAX];
	size_t nr_fds;
};

static int open_program(const char *name)
{
	CLEANUP(free_ptr) char *path = paths_libexec(name);
	return open(path, O_PATH | O_CLOEXEC);
}

static int service_send_json(struct service *s, uint16_t type, uint64_t id, const json_t *j,
			     const int *fds, size_t nr)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	json_dump_buf(j, &b);
	return frame_send(s->channel, type, id, b.data, b.len, fds, nr, &err);
}

static void service_hello(struct service *s)
{
	CLEANUP(json_release) json_t *j = json_object();
	json_put_int(j, "v", LAUNCH_VERSION);
	json_put_flag(j, "root", s->who.root);
	json_put_int(j, "uid", s->who.uid);
	json_put_int(j, "gid", s->who.gid);
	json_put_int(j, "spare", s->who.spare);
	json_put_str(j, "cgroup", cgroups_kind(s->cgroups));
	json_put_flag(j, "freezer", cgroups_freezer(s->cgroups));
	json_put_str(j, "why", cgroups_why(s->cgroups));
	if (service_send_json(s, LAUNCH_HELLO, 0, j, NULL, 0) < 0)
		return; /* the next read sees the end of the channel */
}

struct service *service_new(int channel, uid_t wanted, struct err *err)
{
	struct service *s = NEW(struct service);
	s->channel = channel;
	s->spare = (struct keeper_made){ .pidfd = -1, .channel = { -1, -1, -1 } };
	s->keeper = open_program("sandglass-keeper");
	s->guest = open_program("sandglass-guest");
	if (who_find(wanted, &s->who, err) < 0)
		goto fail;
	if (s->keeper < 0 || s->guest < 0) {
		err_sys(err,
			"can't find sandglass-keeper and sandglass-guest in this program's directory");
		goto fail;
	}
	s->trees = launcher_trees_new(&s->who);
	s->cgroups = cgroups_new();
	service_hello(s);
	cgroups_sweep(); /* while the supervisor starts */
	return s;
fail:
	fd_close(&s->keeper);
	fd_close(&s->guest);
	free(s);
	return NULL;
}

static struct started *find_box(struct service *s, uint64_t box)
{
	for (size_t i = 0; i < s->nr; i++)
		if (box && s->item[i].box == box)
			return &s->item[i];
	return NULL;
}

/* --- requests --- */

static int service_limit(const struct cgroup *c, const json_t *body, struct err *err)
{
	const json_t *l = json_object_get(body, "limits");
	const struct cgroup_limits limits = { .mem_bytes = json_int(l, "mem_bytes", 0),
					      .cpu_milli = json_int(l, "cpu_milli", 0),
					      .pids = json_int(l, "pids", 0) };
	return cgroup_limit(c, &limits, err);
}

static struct started *service_remember(struct service *s, pid_t pid, uint64_t box,
					struct cgroup *c, uid_t own)
{
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr] = (struct started){ .pid = pid, .box = box, .cgroup = c, .own_uid = own };
	return &s->item[s->nr++];
}

static void tell_started(struct service *s, pid_t pid, int pidfd, struct answer *a)
{
	a->body = json_object();
	json_put_int(a->body, "pid", pid);
	json_put_flag(a->body, "cgroup", strcmp(cgroups_kind(s->cgroups), "none") != 0);
	json_put_flag(a->body, "freezer", cgroups_freezer(s->cgroups));
	a->fds[a->nr_fds++] = pidfd;
}

static int service_read_box(struct service *s, const struct request *r, size_t least, uint64_t *box,
			    uid_t *uid, gid_t *gid, struct err *err)
{
	int64_t b = json_int(r->body, "box", 0), u = json_int(r->body, "uid", -1),
		g = json_int(r->body, "gid", -1);
	if (b <= 0 || find_box(s, (uint64_t)b) || u <= 0 || g <= 0 || r->nr_fds < least ||
	    r->nr_fds > least + 2)
		return err_set(err, ERR_INVALID, "sandbox %lld: invalid request", (long long)b);
	*box = (uint64_t)b;
	*uid = (uid_t)u;
	*gid = (gid_t)g;
	return 0;
}

/* --- keepers --- */

static bool read_want(const struct request *r, struct keeper_want *out)
{
	int64_t uid = json_int(r->body, "uid", -1), gid = json_int(r->body, "gid", -1);
	if (uid <= 0 || gid <= 0 || r->nr_fds == 0 || r->nr_fds > KEEPER_FILTERS_MAX)
		return false;
	*out = (struct keeper_want){ .uid = (uid_t)uid, .gid = (gid_t)gid };
	for (size_t i = 0; i < r->nr_fds; i++)
		out->filter[out->nr_filters++] = r->fds[i]; /* borrowed */
	return true;
}

/* It has no box, so nobody waits for its end; its cgroup goes when it is reaped. */
static void drop_spare(struct service *s)
{
	if (s->spare.pid)
		kill(s->spare.pid, SIGKILL);
	keeper_close(&s->spare);
	s->spare.pid = 0;
}

static struct started *find_pid(struct service *s, pid_t pid)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->item[i].pid == pid && !s->item[i].ended)
			return &s->item[i];
	return NULL;
}

static int make_keeper(struct service *s, const struct keeper_want *w, struct keeper_made *out,
		       struct err *err)
{
	if (keeper_make(s->cgroups, s->keeper, s->who.root, w, out, err) < 0)
		return -1;
	service_remember(s, out->pid, 0, take(&out->cgroup), 0)->spare = true;
	return 0;
}

static int start_keeper(struct service *s, const struct request *r, struct answer *a,
			struct err *err)
{
	uint64_t box;
	struct keeper_want w;
	struct keeper_made m;
	if (service_read_box(s, r, 1, &box, &w.uid, &w.gid, err) < 0)
		return -1;
	if (!read_want(r, &w))
		return err_set(err, ERR_INVALID, "sandbox %llu: missing filter",
			       (unsigned long long)box);
	service_reap(s); /* a spare that has died is none */
	if (s->spare.pid && keeper_want_equal(&w, &s->want)) {
		m = s->spare;
		s->spare.pid = 0;
	} else if (make_keeper(s, &w, &m, err) < 0) {
		return -1;
	}
	struct started *one = find_pid(s, m.pid);
	assert(one);
	if (service_limit(one->cgroup, r->body, err) < 0) {
		kill(m.pid, SIGKILL);
		keeper_close(&m);
		return -1;
	}
	one->spare = false;
	one->box = box;
	s->spares_lost = 0;
	tell_started(s, m.pid, m.pidfd, a);
	for (int i = 0; i < KEEPER_CHANNELS; i++)
		a->fds[a->nr_fds++] = m.channel[i];
	return 0;
}

/* LAUNCH_SPARE: only keeps the request; the spare is made while no request waits. */
static int want_spare(struct service *s, const struct request *r, struct answer *a, struct err *err)
{
	struct keeper_want w;
	if (!read_want(r, &w))
		return err_set(err, ERR_INVALID, "spare: invalid request");
	a->body = json_object();
	if (keeper_want_equal(&w, &s->want))
		return 0;
	drop_spare(s);
	keeper_want_release(&s->want);
	s->want = keeper_want_copy(&w);
	s->spares_lost = 0;
	return 0;
}

bool service_idle(const struct service *s)
{
	return s->want.nr_filters == 0 || s->spare.pid || s->spares_lost >= SPARES_LOST_MAX;
}

void service_ahead(struct service *s)
{
	struct err err = ERR_INIT;
	if (service_idle(s))
		return;
	struct keeper_want w = keeper_want_copy(&s->want);
	if (make_keeper(s, &w, &s->spare, &err) < 0) {
		log_debug("no keeper ahead: %s", err.text);
		s->spares_lost = SPARES_LOST_MAX;
	}
	keeper_want_release(&w);
}

/* --- guests of profile reduced --- */

static int start_guest(struct service *s, const struct request *r, struct answer *a,
		       struct err *err)
{
	uint64_t box;
	struct child c = { .exe = s->guest, .drop = s->who.root, .confine = true };
	CLEANUP(buf_release) struct buf dir = BUF_INIT;
	if (service_read_box(s, r, 1, &box, &c.uid, &c.gid, err) < 0)
		return -1;
	if (!s->who.root || !json_get_bytes(json_object_get(r->body, "dir"), &dir))
		return err_set(err, ERR_UNSUPPORTED,
			       "isolation level reduced needs root, for a uid of its own");
	struct cgroup *cg = cgroup_new(s->cgroups, err);
	if (!cg)
		return -1;
	int doors[CGROUP_FDS_MAX], fds[] = { -1, -1, 2, r->fds[0] }, pidfd = -1;
	char name[] = "sandglass-guest", *env[] = { NULL }, *argv[] = { name, NULL };
	pid_t pid = 0;
	c.nr_doors = cgroup_doors(cg, doors);
	c.doors = doors;
	c.dir = dir.data;
	c.argv = argv;
	c.env = env;
	c.fds = fds;
	c.nr_fds = ARRAY_LEN(fds);
	c.filters = r->fds + 1;
	c.nr_filters = r->nr_fds - 1;
	int rc = service_limit(cg, r->body, err);
	if (rc == 0)
		rc = launcher_child_start(&c, &pid, &pidfd, err);
	for (size_t i = 0; i < c.nr_doors; i++)
		fd_close(&doors[i]);
	if (rc < 0) {
		cgroup_remove(cg);
		cgroup_free(&cg);
		return -1;
	}
	service_remember(s, pid, box, cg, c.uid);
	tell_started(s, pid, pidfd, a);
	return 0;
}

static int service_start_host(struct service *s, const struct request *r, struct answer *a,
			      struct err *err)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	CLEANUP(strv_release) struct strv env = STRV_INIT;
	CLEANUP(buf_release) struct buf program = BUF_INIT;
	pid_t pid;
	int pidfd;
	if (!json_get_bytes(json_object_get(r->body, "program"), &program) ||
	    !json_get_argv(json_object_get(r->body, "argv"), &argv) || argv.nr == 0 ||
	    !json_get_argv(json_object_get(r->body, "env"), &env))
		return err_set(err, ERR_INVALID, "host: invalid request");
	char *no_env[] = { NULL };
	CLEANUP(fd_close) int exe = open(program.data, O_PATH | O_CLOEXEC);
	if (exe < 0)
		return err_sys(err, "can't open '%s'", program.data);
	struct child c = { .exe = exe,
			   .argv = argv.item,
			   .env = env.nr ? env.item : no_env,
			   .fds = r->fds,
			   .nr_fds = r->nr_fds,
			   .drop = s->who.root,
			   .uid = s->who.uid,
			   .gid = s->who.gid,
			   .confine = true };
	if (launcher_child_start(&c, &pid, &pidfd, err) < 0)
		return -1;
	service_remember(s, pid, 0, NULL, 0);
	a->body = json_object();
	json_put_int(a->body, "pid", pid);
	a->fds[a->nr_fds++] = pidfd;
	return 0;
}

static int do_cgroup(struct service *s, const struct request *r, struct answer *a, struct err *err)
{
	const char *verb = json_str(r->body, "verb", "");
	struct started *b = find_box(s, (uint64_t)json_int(r->body, "box", 0));
	if (!b || !b->cgroup)
		return err_set(err, ERR_NOENT, "sandbox not found");
	a->body = json_object();
	if (strcmp(verb, "freeze") == 0 || strcmp(verb, "thaw") == 0)
		return cgroup_freeze(b->cgroup, *verb == 'f', err);
	if (strcmp(verb, "kill") == 0) {
		cgroup_kill(b->cgroup);
		child_kill_uid(b->own_uid);
		return 0;
	}
	if (strcmp(verb, "stats") != 0)
		return err_set(err, ERR_INVALID, "cgroup: unknown verb '%s'", verb);
	struct cgroup_stats st;
	cgroup_stats(b->cgroup, &st);
	json_put_int(a->body, "cpu_us", st.cpu_us);
	json_put_int(a->body, "mem_bytes", st.mem_bytes);
	json_put_int(a->body, "pids", st.pids);
	json_put_int(a->body, "oom", st.oom);
	return 0;
}

static int service_dispatch(struct service *s, const struct request *r, struct answer *a,
			    struct err *err)
{
	switch (r->f->type) {
	case LAUNCH_KEEPER:
		return start_keeper(s, r, a, err);
	case LAUNCH_SPARE:
		return want_spare(s, r, a, err);
	case LAUNCH_GUEST:
		return start_guest(s, r, a, err);
	case LAUNCH_TREES:
		a->body = trees_open(s->trees, r->body, a->fds, &a->nr_fds, err);
		return a->body ? 0 : -1;
	case LAUNCH_HOST:
		return service_start_host(s, r, a, err);
	case LAUNCH_CGROUP:
		return do_cgroup(s, r, a, err);
	default:
		return err_set(err, ERR_INVALID, "launcher: unknown request %u", r->f->type);
	}
}

bool service_request(struct service *s)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	int fds[FD_PASS_MAX];
	size_t nr = 0;
	struct frame f;
	struct err err = ERR_INIT;
	if (frame_recv(s->channel, LAUNCH_MAX_BODY, &f, &in, fds, &nr, &err) < 0)
		return false;
	CLEANUP(json_release) json_t *body = json_parse(f.body, f.len, "launch frame", &err);
	struct request r = { .f = &f, .body = body, .fds = fds, .nr_fds = nr };
	struct answer a = { 0 };
	int rc = body ? service_dispatch(s, &r, &a, &err) : -1;
	if (rc == 0)
		rc = service_send_json(s, LAUNCH_OK, f.id, a.body, a.fds, a.nr_fds);
	else {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		wire_err_body(&err, &out);
		rc = frame_send(s->channel, LAUNCH_ERR, f.id, out.data, out.len, NULL, 0, &err);
	}
	json_release(&a.body);
	for (size_t i = 0; i < a.nr_fds; i++)
		fd_close(&a.fds[i]);
	for (size_t i = 0; i < nr; i++)
		fd_close(&fds[i]);
	return rc == 0;
}

/* --- the dead --- */

enum { REMOVE_TRIES = 2500 }; /* 5 s at 2 ms; then the group is left to the next launcher's sweep */

static void service_tell(struct service *s, const struct started *one)
{
	CLEANUP(json_release) json_t *j = json_object();
	json_put_int(j, "pid", one->pid);
	json_put_int(j, "code", WIFEXITED(one->status) ? WEXITSTATUS(one->status) : 0);
	json_put_int(j, "signal", WIFSIGNALED(one->status) ? WTERMSIG(one->status) : 0);
	if (service_send_json(s, LAUNCH_EXITED, 0, j, NULL, 0) < 0)
		return; /* the next read sees the end of the channel */
}

static void service_bury(struct service *s)
{
	for (size_t i = 0; i < s->nr;) {
		struct started *one = &s->item[i];
		if (one->ended && one->cgroup && !cgroup_remove(one->cgroup) &&
		    ++one->tries < REMOVE_TRIES) {
			if (one->tries % 16 == 1)
				cgroup_kill(one->cgroup);
			i++;
			continue;
		}
		if (!one->ended) {
			i++;
			continue;
		}
		if (!one->spare)
			service_tell(s, one);
		cgroup_free(&one->cgroup);
		s->item[i] = s->item[--s->nr];
	}
}

static bool service_is_ours(const void *self, pid_t pid)
{
	const struct service *s = self;
	for (size_t i = 0; i < s->nr; i++)
		if (s->item[i].pid == pid)
			return true;
	return false;
}

void service_reap(struct service *s)
{
	int status;
	bool any = false;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0; any = true)
		for (size_t i = 0; i < s->nr; i++) {
			struct started *one = &s->item[i];
			if (one->pid != pid || one->ended)
				continue;
			one->ended = true;
			one->status = status;
			if (pid == s->spare.pid) {
				keeper_close(&s->spare);
				s->spare.pid = 0;
				s->spares_lost++;
			}
			if (one->own_uid)
				child_kill_uid(one->own_uid);
			if (one->cgroup)
				cgroup_kill(one->cgroup);
		}
	if (any)
		child_kill_left(service_is_ours, s);
	service_bury(s);
}

bool service_dying(const struct service *s)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->item[i].ended)
			return true;
	return false;
}

void service_free(struct service **sp)
{
	struct service *s = *sp;
	drop_spare(s);
	keeper_want_release(&s->want);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->item[i].cgroup)
			cgroup_kill(s->item[i].cgroup);
		kill(s->item[i].pid, SIGKILL);
		child_kill_uid(s->item[i].own_uid);
	}
	for (int i = 0; s->nr && i < REMOVE_TRIES; i++) {
		service_reap(s);
		struct timespec t = { .tv_nsec = 2000000 };
		if (s->nr)
			nanosleep(&t, NULL);
	}
	for (int i = 0; i < REMOVE_TRIES && waitpid(-1, NULL, WNOHANG) >= 0; i++) {
		child_kill_left(NULL, NULL);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	for (size_t i = 0; i < s->nr; i++)
		cgroup_free(&s->item[i].cgroup);
	cgroups_free(&s->cgroups);
	launcher_trees_free(&s->trees);
	fd_close(&s->keeper);
	fd_close(&s->guest);
	free_ptr(&s->item);
	free_ptr(sp);
}
