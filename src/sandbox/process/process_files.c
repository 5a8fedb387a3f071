#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/process/process_reduced.h"
#include "wire/keeper.h"

/* One verb under way. In profile reduced a worker does what otherwise the keeper does. */
struct file_ask {
	struct process_box *p;
	box_done_fn *done;
	void *self;
	size_t max;
	int fd;
	json_t *result;
	struct err err;
};

static struct file_ask *process_files_ask_new(struct process_box *p, box_done_fn *done, void *self)
{
	struct file_ask *a = NEW(struct file_ask);
	*a = (struct file_ask){ .p = p, .done = done, .self = self, .fd = -1 };
	return a;
}

static void process_files_ask_end(void *self)
{
	struct file_ask *a = self;
	a->done(a->self, a->err.code ? NULL : a->result, a->err.code ? &a->err : NULL);
	json_release(&a->result);
	fd_close(&a->fd);
	free(a);
}

/* Worker: at most max bytes of a regular file, which may change under us. */
static void read_content(void *self)
{
	struct file_ask *a = self;
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	struct stat st;
	if (fstat(a->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(&a->err, ERR_INVALID, "not a regular file");
		return;
	}
	while (data.len < a->max) {
		size_t want = a->max - data.len < 1 << 20 ? a->max - data.len : 1 << 20;
		buf_reserve(&data, want);
		ssize_t n = pread(a->fd, data.data + data.len, want, (off_t)data.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(&a->err, "can't read the file");
			return;
		}
		if (n == 0)
			break;
		data.len += (size_t)n;
		data.data[data.len] = 0;
	}
	json_put_bytes(a->result, "data", buf_cstr(&data), data.len);
}

static void on_file(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct file_ask *a = self;
	if (!body || nr != 1) {
		if (err)
			a->err = *err;
		else
			err_set(&a->err, ERR_PARSE, "the keeper sent no file");
		process_files_ask_end(a);
		return;
	}
	a->fd = fds[0];
	fds[0] = -1;
	a->result = json_deep_copy(body);
	loop_job_run(a->p->loop, read_content, process_files_ask_end, a);
}

static void process_files_on_answer(void *self, json_t *body, int *fds, size_t nr,
				    const struct err *err)
{
	struct file_ask *a = self;
	(void)fds;
	(void)nr;
	a->result = json_incref(body);
	if (!body)
		a->err = *err;
	process_files_ask_end(a);
}

/* Paths are absolute or relative to /workspace. */
static void process_files_put_path(json_t *body, const char *path)
{
	CLEANUP(free_ptr)
	char *full = *path == '/' ? mem_strdup(path) : mem_printf("/workspace/%s", path);
	json_put_bytes(body, "path", full, strlen(full));
}

static void process_files_look(struct box *b, const char *path, const char *as, size_t max,
			       box_done_fn *done, void *self)
{
	struct process_box *p = CONTAINER_OF(b, struct process_box, b);
	if (p->reduced) {
		folder_look(reduced_folder(p->reduced), path, as, max, done, self);
		return;
	}
	if (p->dead || !p->cell || !p->cell->keeper) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_CLOSED, "the sandbox has died");
		process_answer(p->loop, done, self, NULL, &err);
		return;
	}
	struct file_ask *a = process_files_ask_new(p, done, self);
	CLEANUP(json_release) json_t *body = json_object();
	a->max = max;
	process_files_put_path(body, path);
	json_put_str(body, "as", as);
	rpc_call(p->cell->keeper, KEEPER_LOOK, body, NULL, 0,
		 strcmp(as, "file") == 0 ? on_file : process_files_on_answer, a);
}

void process_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self)
{
	process_files_look(b, path, "file", max, done, self);
}

void process_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	process_files_look(b, path, "dir", 0, done, self);
}

void process_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	process_files_look(b, path, "stat", 0, done, self);
}

void process_write(struct box *b, const char *path, const void *data, size_t len, int mode,
		   box_done_fn *done, void *self)
{
	struct process_box *p = CONTAINER_OF(b, struct process_box, b);
	struct err err = ERR_INIT;
	if (p->reduced) {
		folder_write(reduced_folder(p->reduced), path, data, len, mode, done, self);
		return;
	}
	if (p->dead || !p->cell || !p->cell->keeper) {
		err_set(&err, ERR_CLOSED, "the sandbox has died");
		process_answer(p->loop, done, self, NULL, &err);
		return;
	}
	int fd = memfd_create("content", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, data, len, &err) < 0) {
		if (!err.code)
			err_sys(&err, "can't create a memory file");
		fd_close(&fd);
		process_answer(p->loop, done, self, NULL, &err);
		return;
	}
	CLEANUP(json_release) json_t *body = json_object();
	process_files_put_path(body, path);
	json_put_int(body, "mode", mode);
	rpc_call(p->cell->keeper, KEEPER_WRITE, body, &fd, 1, process_files_on_answer,
		 process_files_ask_new(p, done, self));
}
