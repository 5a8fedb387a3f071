/* Part of mirror.c: the directory here and the one over there become equal, in either direction. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/common/mirror_priv.h"
#include "sandbox/common/mirror.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "wire/guest.h"
#include "wire/plan.h"
#include "wire/tool.h"

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
