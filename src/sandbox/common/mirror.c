#include "sandbox/common/mirror.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/driver.h"
#include "sandbox/common/mirror_priv.h"
#include "wire/guest.h"
#include "wire/plan.h"
#include "wire/tool.h"

/* A question of a worker's on its way to the other side. */
struct call {
	char *const *arg;
	const void *in;
	size_t len;
	bool sent, done;
	struct buf out;
	struct err err;
};

struct mirror {
	struct mirror *next; /* of all */
	struct loop *loop;
	struct loop_wake *wake;
	struct mirror_opts o;
	char *far_root;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct call *call;
	bool over;
	struct { /* news that came with the end of a command, and known to the caller */
		/* asked; its command has ended */
		enum { NEWS_NONE, NEWS_ASKED, NEWS_DUE, NEWS_HERE } state;
		unsigned nr;
		char digest[8]; /* the listing that it tells the news of */
		struct buf bytes;
		struct buf known; /* digest of the newest listing, or empty */
		uint64_t newest;  /* time of change in it */
	} news;
	struct { /* what we have written over there, the newest last */
		struct mirror_put *item;
		size_t nr, cap;
		uint64_t bytes;
	} puts;
	struct listing far; /* as it was when both sides were equal */
	/* a plan was carried out in part: what lies here is to be looked at, and every file to be
	 * fetched */
	bool torn;
};

enum {
	NEWS_MAX = 256 << 10,
	NEWS_WAIT_S = 30,
	PUT_LEAST = 16 << 10,
	PUT_MOST = 2 * BOX_FILE_MAX,
	PUTS = 64
};

static struct mirror *mirror_mirrors;

/* --- from a worker to the loop and back --- */

static void mirror_on_answer(void *self, const char *out, size_t len, const struct err *err)
{
	struct mirror *m = self;
	pthread_mutex_lock(&m->lock);
	struct call *c = m->call;
	if (c && !c->done) {
		if (err)
			c->err = *err;
		else
			buf_append(&c->out, out, len);
		c->done = true;
		pthread_cond_signal(&m->answered);
	}
	pthread_mutex_unlock(&m->lock);
}

static void on_wake(void *self)
{
	struct mirror *m = self;
	pthread_mutex_lock(&m->lock);
	struct call *c = m->call && !m->call->sent && !m->call->done ? m->call : NULL;
	if (c)
		c->sent = true;
	pthread_mutex_unlock(&m->lock);
	if (c)
		m->o.run(m->o.self, c->arg, c->in, c->len, mirror_on_answer, m);
}

/* Appends the answer to @out, which may be NULL. */
static int mirror_request(struct mirror *m, const char *verb, const void *in, size_t len,
			  struct buf *out, struct err *err)
{
	char *const arg[] = { (char *)(uintptr_t)verb, m->far_root, NULL };
	struct call c = { .arg = arg, .in = in, .len = len };
	pthread_mutex_lock(&m->lock);
	if (m->over)
		err_set(&c.err, ERR_CLOSED, "the sandbox has ended");
	else {
		m->call = &c;
		loop_wake_send(m->wake);
		while (!c.done)
			pthread_cond_wait(&m->answered, &m->lock);
		m->call = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	if (c.err.code)
		*err = c.err;
	else if (out)
		buf_append(out, c.out.data, c.out.len);
	buf_release(&c.out);
	return c.err.code ? -1 : 0;
}

/* --- what comes unasked --- */

/* With the lock. */
static void news_end(struct mirror *m)
{
	m->news.state = NEWS_NONE;
	buf_release(&m->news.bytes);
	pthread_cond_signal(&m->answered);
}

unsigned mirror_news(struct mirror *m, struct strv *words)
{
	unsigned nr = 0;
	pthread_mutex_lock(&m->lock);
	if (!m->over && m->news.known.len == 8) {
		CLEANUP(buf_release) struct buf digest = BUF_INIT;
		CLEANUP(free_ptr)
		char *since = mem_printf("%llu", (unsigned long long)m->news.newest);
		CLEANUP(free_ptr) char *most = mem_printf("%d", NEWS_MAX);
		m->news.nr += m->news.nr == UINT_MAX ? 2 : 1; /* never 0 */
		nr = m->news.nr;
		news_end(m); /* a caller that waits for older news asks itself */
		m->news.state = NEWS_ASKED;
		memcpy(m->news.digest, m->news.known.data, 8);
		hex_append(&digest, m->news.digest, 8);
		const char *const all[] = { "news", m->far_root, buf_cstr(&digest), since, most };
		for (size_t i = 0; i < ARRAY_LEN(all); i++)
			strv_push(words, all[i]);
	}
	pthread_mutex_unlock(&m->lock);
	return nr;
}

void mirror_news_came(struct mirror *m, unsigned nr, const char *out, size_t len,
		      const struct err *err)
{
	pthread_mutex_lock(&m->lock);
	if (nr == m->news.nr && (m->news.state == NEWS_ASKED || m->news.state == NEWS_DUE)) {
		news_end(m);
		if (!err && len >= 8 && len <= NEWS_MAX + 4096) {
			m->news.state = NEWS_HERE;
			buf_append(&m->news.bytes, out, len);
		}
	}
	pthread_mutex_unlock(&m->lock);
}

void mirror_stirred(struct mirror *m, unsigned nr)
{
	pthread_mutex_lock(&m->lock);
	if (nr != m->news.nr)
		news_end(m);
	else if (m->news.state == NEWS_ASKED)
		m->news.state = NEWS_DUE;
	pthread_mutex_unlock(&m->lock);
}

/* With the lock: until the news of a command that has ended are here or will not come. One that
 * still runs is not waited for. */
static void mirror_wait_for_news(struct mirror *m)
{
	struct timespec until;
	int rc = clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += NEWS_WAIT_S;
	while (rc == 0 && m->news.state == NEWS_DUE && !m->over)
		rc = pthread_cond_clockwait(&m->answered, &m->lock, CLOCK_MONOTONIC, &until);
}

/* Takes the received news, or drops them. */
static bool mirror_take_news(struct mirror *m, bool ended, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	if (ended)
		mirror_wait_for_news(m);
	bool good = ended && m->news.state == NEWS_HERE && m->far.digest.len == 8 &&
		    !memcmp(m->news.digest, m->far.digest.data, 8);
	if (good) {
		*out = m->news.bytes;
		m->news.bytes = BUF_INIT;
	}
	news_end(m);
	pthread_mutex_unlock(&m->lock);
	return good;
}

/* --- what we have written there --- */

bool mirror_put_pays(size_t len)
{
	return len >= PUT_LEAST;
}

static void puts_free(struct mirror_put *item, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(item[i].path);
		buf_release(&item[i].bytes);
	}
	free(item);
}

/* With the lock. */
static void put_drop(struct mirror *m, size_t i)
{
	struct mirror_put *p = &m->puts.item[i];
	m->puts.bytes -= p->bytes.len;
	free(p->path);
	buf_release(&p->bytes);
	memmove(p, p + 1, (--m->puts.nr - i) * sizeof(*p));
}

void mirror_put(struct mirror *m, const char *path, struct buf *bytes)
{
	struct buf mine = *bytes;
	*bytes = BUF_INIT;
	pthread_mutex_lock(&m->lock);
	for (size_t i = m->puts.nr; i-- > 0;)
		if (strcmp(m->puts.item[i].path, path) == 0)
			put_drop(m, i);
	if (mirror_put_pays(mine.len) && !m->over) {
		GROW(m->puts.item, m->puts.nr, m->puts.cap);
		m->puts.item[m->puts.nr++] = (struct mirror_put){ mem_strdup(path), mine };
		m->puts.bytes += mine.len;
		mine = BUF_INIT;
	}
	while (m->puts.nr > PUTS || m->puts.bytes > PUT_MOST)
		put_drop(m, 0);
	pthread_mutex_unlock(&m->lock);
	buf_release(&mine);
}

/* Forgets entries that differ over there, or are not news. */
static void take_puts(struct mirror *m, struct mirror_news *c)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
	struct err none = ERR_INIT;
	pthread_mutex_lock(&m->lock);
	struct mirror_put *item = m->puts.item;
	size_t nr = m->puts.nr;
	m->puts.item = NULL;
	m->puts.nr = m->puts.cap = 0;
	m->puts.bytes = 0;
	pthread_mutex_unlock(&m->lock);
	mirror_ask_sums(c, item, nr, &in);
	if (in.len && mirror_request(m, "sum", in.data, in.len, &out, &none) == 0)
		mirror_take_sums(c, item, nr, &out);
	puts_free(item, nr);
}

/* @m->far is new. */
static void mirror_remember(struct mirror *m)
{
	uint64_t newest = 0;
	for (size_t i = 0; i < m->far.nr; i++)
		newest = m->far.item[i].ctime_ns > newest ? m->far.item[i].ctime_ns : newest;
	pthread_mutex_lock(&m->lock);
	buf_reset(&m->news.known);
	buf_append(&m->news.known, m->far.digest.data, m->far.digest.len);
	m->news.newest = newest;
	pthread_mutex_unlock(&m->lock);
}

/* The program ends while a worker waits for a far side that does not answer: the loop no longer
 * runs. */
static void at_exit(void)
{
	for (struct mirror *m = mirror_mirrors; m; m = m->next)
		mirror_over(m);
}

struct mirror *mirror_new(const struct mirror_opts *o)
{
	static bool known;
	struct mirror *m = NEW(struct mirror);
	if (!known)
		known = atexit(at_exit) == 0;
	*m = (struct mirror){ .next = mirror_mirrors,
			      .loop = o->loop,
			      .o = *o,
			      .far_root = mem_strdup(o->far_root) };
	mirror_mirrors = m;
	m->wake = loop_wake_new(o->loop, on_wake, m);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->answered, NULL);
	return m;
}

void mirror_over(struct mirror *m)
{
	struct err err = ERR_INIT;
	if (!m)
		return;
	err_set(&err, ERR_CLOSED, "the sandbox has ended");
	pthread_mutex_lock(&m->lock);
	m->over = true;
	news_end(m);
	pthread_mutex_unlock(&m->lock);
	mirror_on_answer(m, NULL, 0, &err);
}

void mirror_free(struct mirror **mp)
{
	struct mirror *m = take(mp);
	if (!m)
		return;
	for (struct mirror **at = &mirror_mirrors; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	loop_wake_free(&m->wake);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->answered);
	listing_release(&m->far);
	puts_free(m->puts.item, m->puts.nr);
	buf_release(&m->news.bytes);
	buf_release(&m->news.known);
	free(m->far_root);
	free(m);
}

void mirror_answer(const char *out, size_t len, int code, int signal, const char *said,
		   mirror_done_fn *done, void *self)
{
	struct err err = ERR_INIT;
	if (len && out[0] == 0 && code == 0 && signal == 0) {
		done(self, out + 1, len - 1, NULL);
		return;
	}
	if (len > 1 && out[0] > 0 && out[0] <= ERR_SCRIPT)
		err_set(&err, (enum err_code)out[0], "%.*s", (int)(len - 1 < 400 ? len - 1 : 400),
			out + 1);
	else if (said && *said)
		err_set(&err, ERR_IO, "the guest program in the sandbox failed: %.*s",
			(int)strcspn(said, "\r\n"), said);
	else
		err_set(&err, ERR_IO, "the guest program in the sandbox ended with %s %d",
			signal ? "signal" : "exit code", signal ? signal : code);
	done(self, NULL, 0, &err);
}

/* --- the directory here --- */

static int open_here(const struct mirror *m, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(folder_root(m->o.folder), "workspace");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "can't open '%s'", path) : fd;
}

static int list_far(struct mirror *m, struct listing *out, bool *same, struct err *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	size_t known = m->far.digest.len;
	*same = false;
	if (mirror_request(m, "list", buf_cstr(&m->far.digest), known, &all, err) < 0)
		return -1;
	if (all.len < 8)
		return err_set(err, ERR_PARSE, "the list of the sandbox's files is incomplete");
	if (known == 8 && all.len == 8 && memcmp(all.data, m->far.digest.data, 8) == 0) {
		*same = true;
		return 0;
	}
	buf_append(&out->digest, all.data, 8);
	buf_drop(&all, 8);
	out->bytes = all;
	all = BUF_INIT;
	return listing_read(out, err);
}

/* --- going over --- */

/* Operations that go over together, with the contents they need. */
struct parcel {
	struct mirror *m;
	struct buf plan, contents;
	size_t nr;
};

static int parcel_send(struct parcel *p, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	if (!p->nr)
		return 0;
	buf_reserve(&in, 8 + p->plan.len + p->contents.len);
	buf_u64le(&in, p->plan.len);
	buf_append(&in, p->plan.data, p->plan.len);
	buf_append(&in, p->contents.data, p->contents.len);
	int rc = mirror_request(p->m, "apply", in.data, in.len, NULL, err);
	plan_begin(&p->plan);
	buf_reset(&p->contents);
	p->nr = 0;
	return rc;
}

/* @fd: where a file's contents are, from op->off on. */
static int parcel_add(struct parcel *p, const struct plan_op *op, int fd, struct err *err)
{
	struct plan_op mine = *op;
	if (p->nr && (p->contents.len + op->len > TOOL_PIECE || p->nr >= 20000) &&
	    parcel_send(p, err) < 0)
		return -1;
	mine.fd = 0;
	if (op->kind == PLAN_FILE)
		mine.off = p->contents.len;
	for (uint64_t left = op->kind == PLAN_FILE ? op->len : 0; left;) {
		buf_reserve(&p->contents, left);
		ssize_t n = pread(fd, p->contents.data + p->contents.len, left,
				  (off_t)(op->off + op->len - left));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_IO, "can't read the new content of '%.*s'",
				       (int)(op->path_len < 300 ? op->path_len : 300), op->path);
		p->contents.len += (size_t)n;
		left -= (uint64_t)n;
	}
	plan_add(&p->plan, &mine);
	p->nr++;
	return 0;
}

static int parcel_entry(struct parcel *p, int root, const struct manifest_entry *e, struct err *err)
{
	struct plan_op op = { .mode = e->mode & 01777,
			      .path = e->path,
			      .path_len = strlen(e->path) };
	CLEANUP(fd_close) int fd = -1;
	switch (e->kind) {
	case MANIFEST_FILE:
		fd = beneath_open(root, e->path, op.path_len, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return err_sys(err, "can't read '%s'", e->path);
		op.kind = PLAN_FILE;
		op.len = e->size;
		break;
	case MANIFEST_DIR:
		op.kind = PLAN_DIR;
		op.mode |= 0700; /* for the time of filling */
		break;
	case MANIFEST_LINK:
		op.kind = PLAN_SYMLINK;
		op.target = e->target;
		op.target_len = strlen(e->target);
		break;
	case MANIFEST_FIFO:
		op.kind = PLAN_FIFO;
		break;
	case MANIFEST_OTHER:
		return 0;
	}
	if (parcel_add(p, &op, fd, err) < 0)
		return -1;
	if (e->kind != MANIFEST_FILE && e->kind != MANIFEST_LINK)
		return 0;
	op = (struct plan_op){ .kind = PLAN_TIME,
			       .path = op.path,
			       .path_len = op.path_len,
			       .off = e->mtime_ns / 1000 };
	return parcel_add(p, &op, -1, err); /* as old as here: make and its like compare */
}

int mirror_push(struct mirror *m, struct err *err)
{
	struct listing here = { 0 };
	struct parcel p = { .m = m };
	bool same;
	CLEANUP(fd_close) int root = open_here(m, err);
	plan_begin(&p.plan);
	listing_release(&m->far);
	int rc = root < 0 || manifest_make(root, &here.bytes, err) < 0 ||
				 listing_read(&here, err) < 0
			 ? -1
			 : 0;
	for (size_t i = 0; rc == 0 && i < here.nr; i++)
		rc = parcel_entry(&p, root, &here.item[i], err);
	for (size_t i = here.nr; rc == 0 && i-- > 0;) {
		const struct manifest_entry *e = &here.item[i];
		const struct plan_op op = { .kind = PLAN_CHMOD,
					    .mode = e->mode & 01777,
					    .path = e->path,
					    .path_len = strlen(e->path) };
		if (e->kind == MANIFEST_DIR && (e->mode & 0700) != 0700)
			rc = parcel_add(&p, &op, -1, err);
	}
	if (rc == 0)
		rc = parcel_send(&p, err);
	if (rc == 0)
		rc = list_far(m, &m->far, &same, err);
	mirror_remember(m);
	buf_release(&p.plan);
	buf_release(&p.contents);
	listing_release(&here);
	return rc < 0 ? err_wrap(err, "can't copy the workspace into the sandbox") : 0;
}

/* --- coming here --- */

/* Fetches what @c wants yet, in pieces, into its contents. */
static int mirror_fetch(struct mirror *m, struct mirror_news *c, struct err *err)
{
	for (size_t i = 0; i < c->nr_want;) {
		if (c->want[i].whole) {
			i++;
			continue;
		}
		CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
		size_t end = mirror_ask(c, i, &in);
		if (mirror_request(m, "get", in.data, in.len, &out, err) < 0 ||
		    mirror_take(c, i, end, &out, err) < 0)
			return -1;
	}
	return 0;
}

/* Lists the files here without any known contents. */
static int look_here(struct mirror *m, int root, struct err *err)
{
	struct listing here = { 0 };
	if (manifest_make(root, &here.bytes, err) < 0 || listing_read(&here, err) < 0) {
		listing_release(&here);
		return -1;
	}
	for (size_t i = 0; i < here.nr; i++)
		here.item[i].ctime_ns = 0;
	listing_release(&m->far);
	m->far = here;
	return 0;
}

/* The received news in the format of list_far; @contents borrows from @news. */
static int list_came(const struct buf *news, struct listing *out, bool *same,
		     struct unpack *contents, struct err *err)
{
	*contents = (struct unpack){ .p = buf_cstr(news) + 8, .left = news->len - 8 };
	*same = contents->left == 0;
	buf_append(&out->digest, news->data, 8);
	if (*same)
		return 0;
	uint64_t n = unpack_u64(contents);
	if (contents->bad || n > contents->left)
		return err_set(err, ERR_PARSE, "the list of changed files is incomplete");
	buf_append(&out->bytes, contents->p, n);
	contents->p += n;
	contents->left -= n;
	return listing_read(out, err);
}

int mirror_pull(struct mirror *m, bool ended, struct err *err)
{
	struct listing now = { 0 };
	struct unpack contents = { 0 };
	CLEANUP(buf_release) struct buf news = BUF_INIT;
	bool same;
	CLEANUP(fd_close) int root = open_here(m, err);
	if (root < 0 || (m->torn && look_here(m, root, err) < 0))
		return -1;
	int rc = mirror_take_news(m, ended, &news) ? list_came(&news, &now, &same, &contents, err)
						   : list_far(m, &now, &same, err);
	if (rc < 0 || same) {
		listing_release(&now);
		return rc;
	}
	struct mirror_news c = { .contents = memfd_create("mirror", MFD_CLOEXEC) };
	mirror_find(&c, &m->far, &now);
	rc = mirror_take_any(&c, contents.p, contents.left, err);
	if (rc == 0) {
		take_puts(m, &c);
		rc = mirror_fetch(m, &c, err);
	}
	if (rc == 0) {
		mirror_plan(&c);
		rc = c.nr_ops ? folder_plan(m->o.folder, root, c.plan.data, c.plan.len, &c.contents,
					    1, err)
			      : 0;
		m->torn = rc < 0;
	}
	if (rc == 0) {
		listing_release(&m->far);
		m->far = now;
		now = (struct listing){ 0 };
	} else
		buf_reset(&m->far.digest);
	mirror_remember(m);
	mirror_release(&c);
	listing_release(&now);
	return rc < 0 ? err_wrap(err, "can't copy the sandbox's changes") : 0;
}

/* --- both ways --- */

static char *under_path(const char *under, const char *path, size_t len)
{
	return *under ? mem_printf("%s/%.*s", under, (int)len, path) : mem_strndup(path, len);
}

static int send_plan(struct mirror *m, const char *under, const char *plan, size_t len,
		     const int *fds, size_t nr_fds, struct strv *paths, struct err *err)
{
	struct parcel p = { .m = m };
	struct plan_op op;
	size_t pos = 0;
	int rc;
	plan_begin(&p.plan);
	while ((rc = plan_next(plan, len, &pos, nr_fds, &op, err)) > 0) {
		CLEANUP(free_ptr) char *path = under_path(under, op.path, op.path_len);
		CLEANUP(free_ptr)
		char *target =
			op.kind == PLAN_LINK ? under_path(under, op.target, op.target_len) : NULL;
		int fd = op.kind == PLAN_FILE ? fds[op.fd] : -1;
		op.path = path;
		op.path_len = strlen(path);
		if (target) {
			op.target = target;
			op.target_len = strlen(target);
		}
		strv_push(paths, path);
		if (parcel_add(&p, &op, fd, err) < 0) {
			rc = -1;
			break;
		}
	}
	if (rc == 0)
		rc = parcel_send(&p, err);
	buf_release(&p.plan);
	buf_release(&p.contents);
	return rc;
}

int mirror_apply(struct mirror *m, const char *under, const char *plan, size_t len, const int *fds,
		 size_t nr_fds, struct err *err)
{
	CLEANUP(strv_release) struct strv paths = STRV_INIT;
	CLEANUP(free_ptr) char *ws = path_join(folder_root(m->o.folder), "workspace");
	CLEANUP(free_ptr) char *path = *under ? path_join(ws, under) : mem_strdup(ws);
	CLEANUP(fd_close) int root = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct listing now = { 0 };
	bool same;
	if (root < 0)
		return err_sys(err, "can't open '%s'", path);
	int rc = send_plan(m, under, plan, len, fds, nr_fds, &paths, err);
	if (rc == 0)
		rc = folder_plan(m->o.folder, root, plan, len, fds, nr_fds, err);
	m->torn |= rc < 0;
	buf_reset(&m->far.digest);
	if (rc == 0)
		rc = list_far(m, &now, &same, err);
	if (rc == 0)
		/* others may have changed meanwhile: they keep their old stamps */
		listing_adopt(&m->far, &now, &paths);
	mirror_remember(m);
	listing_release(&now);
	return rc;
}
