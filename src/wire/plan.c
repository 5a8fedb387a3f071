#include "wire/plan.h"

#include <string.h>

static const char plan_magic[] = "SGPLAN1\n";
enum { MAGIC_LEN = sizeof(plan_magic) - 1, HEAD_LEN = 1 + 4 + 4 + 8 + 8 };

void plan_begin(struct buf *plan)
{
	buf_reset(plan);
	buf_append(plan, plan_magic, MAGIC_LEN);
}

void plan_add(struct buf *plan, const struct plan_op *op)
{
	buf_putc(plan, (char)op->kind);
	buf_u32le(plan, op->mode);
	buf_u32le(plan, op->fd);
	buf_u64le(plan, op->off);
	buf_u64le(plan, op->len);
	buf_u32le(plan, (uint32_t)op->path_len);
	buf_append(plan, op->path, op->path_len);
	buf_u32le(plan, (uint32_t)op->target_len);
	buf_append(plan, op->target, op->target_len);
}

bool plan_path_ok(const char *path, size_t len)
{
	if (len == 0 || len > PLAN_PATH_MAX || memchr(path, 0, len))
		return false;
	for (size_t i = 0; i <= len;) {
		const char *slash = i < len ? memchr(path + i, '/', len - i) : NULL;
		size_t end = slash ? (size_t)(slash - path) : len, n = end - i;
		if (n == 0 || (n == 1 && path[i] == '.') ||
		    (n == 2 && path[i] == '.' && path[i + 1] == '.'))
			return false;
		i = end + 1;
	}
	return path[len - 1] != '/';
}

static bool plan_take_bytes(const char *plan, size_t len, size_t *pos, const char **out,
			    size_t *out_len)
{
	if (len - *pos < 4)
		return false;
	size_t n = get_u32le(plan + *pos);
	*pos += 4;
	if (n > len - *pos)
		return false;
	*out = plan + *pos;
	*out_len = n;
	*pos += n;
	return true;
}

static const char *plan_judge(const struct plan_op *op, size_t nr_fds)
{
	if (!plan_path_ok(op->path, op->path_len))
		return "a path that leads nowhere";
	if (op->mode & ~01777u)
		return "a mode outside 01777";
	switch (op->kind) {
	case PLAN_FILE:
		return op->fd < nr_fds ? NULL : "a descriptor that was not sent";
	case PLAN_SYMLINK:
		return op->target_len > 0 && op->target_len <= PLAN_PATH_MAX &&
				       !memchr(op->target, 0, op->target_len)
			       ? NULL
			       : "a symbolic link without a target";
	case PLAN_LINK:
		return plan_path_ok(op->target, op->target_len) ? NULL : "a hard link to nowhere";
	case PLAN_DIR:
	case PLAN_REMOVE:
	case PLAN_CHMOD:
	case PLAN_FIFO:
		return NULL;
	case PLAN_TIME:
		return op->off <= INT64_MAX ? NULL : "a time before the epoch";
	}
	return "an unknown operation";
}

int plan_next(const char *plan, size_t len, size_t *pos, size_t nr_fds, struct plan_op *op,
	      struct err *err)
{
	if (*pos == 0) {
		if (len < MAGIC_LEN || memcmp(plan, plan_magic, MAGIC_LEN) != 0)
			return err_set(err, ERR_PARSE, "plan: not a plan");
		*pos = MAGIC_LEN;
	}
	if (*pos == len)
		return 0;
	size_t at = *pos;
	if (len - at < HEAD_LEN)
		return err_set(err, ERR_PARSE, "plan: incomplete at byte %zu", at);
	const char *p = plan + at;
	struct plan_op o = { .kind = (enum plan_kind)(unsigned char)p[0],
			     .mode = get_u32le(p + 1),
			     .fd = get_u32le(p + 5),
			     .off = get_u64le(p + 9),
			     .len = get_u64le(p + 17) };
	at += HEAD_LEN;
	if (!plan_take_bytes(plan, len, &at, &o.path, &o.path_len) ||
	    !plan_take_bytes(plan, len, &at, &o.target, &o.target_len))
		return err_set(err, ERR_PARSE, "plan: incomplete at byte %zu", at);
	const char *wrong = plan_judge(&o, nr_fds);
	if (wrong)
		return err_set(err, ERR_PARSE, "plan: %s at byte %zu", wrong, *pos);
	*op = o;
	*pos = at;
	return 1;
}
