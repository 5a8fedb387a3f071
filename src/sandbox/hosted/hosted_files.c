/* Part of hosted.c: files of a hosted sandbox. Each verb is one text, or several for large files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/hosted/hosted_priv.h"
#include "sandbox/hosted/hosted.h"
#include "base/hash.h"
#include "base/mem.h"

/* The size of one piece, as a plugin's little memory holds it several times, and the loop handles a
 * piece at once; a file that changes between two pieces is read again at most this often. The bytes
 * of a large file are encoded by a worker. */
enum { READ_AT_ONCE = 2 << 20, WHOLE_MAX = 1 << 20, READ_ANEW = 3, ENCODE_HERE = 256 << 10 };

struct file {
	struct remote *remote;
	box_done_fn *done;
	void *self;
	enum { FILE_READ, FILE_WRITE, FILE_PART, FILE_STAT, FILE_LIST, FILE_KILL } what;
	char *path, id[16];
	size_t max, from; /* read: so much at most; asked for from here on, a piece at once */
	int mode;
	bool packed;	      /* data is what gzip has made of it */
	struct buf data;      /* read or to be written */
	size_t part, sent;    /* size of its parts; number of parts sent */
	char *seen;	      /* read: what the last piece said of the file */
	bool another;	      /* which was another one by then */
	unsigned anew;	      /* it has been read again so often */
	json_t *stat, *stats; /* of the file; of the entries of a directory */
	json_t *result;	      /* a worker adds data; owned */
	struct err err;
};

static void file_end(struct file *f, json_t *result, const struct err *err)
{
	f->done(f->self, result, err);
	json_decref(result);
	json_decref(f->stat);
	json_decref(f->stats);
	buf_release(&f->data);
	free(f->path);
	free(f->seen);
	free(f);
}

static void hosted_part_of(const struct file *f, size_t *from, size_t *len)
{
	*from = f->sent * f->part;
	*len = f->data.len - *from < f->part ? f->data.len - *from : f->part;
}

/* A provider that tells everything at the end is asked for a piece at a time: its answer is in
 * memory some times. */
static size_t hosted_piece_of(const struct file *f)
{
	const struct remote_port *p = &f->remote->of->port;
	size_t left = f->max - f->from;
	return p->poll_s(p->self) && left > READ_AT_ONCE ? READ_AT_ONCE : left;
}

static void hosted_make(void *self, struct buf *text)
{
	struct file *f = self;
	size_t from, len;
	switch (f->what) {
	case FILE_READ:
		f->from = f->data.len; /* asked again: the bytes received stay */
		shell_protocol_read(text, f->path, f->from, hosted_piece_of(f));
		break;
	case FILE_PART:
		hosted_part_of(f, &from, &len);
		shell_protocol_part(text, f->remote->base, f->id, (unsigned)f->sent,
				    f->data.data + from, len);
		break;
	case FILE_WRITE:
		shell_protocol_write(text, f->remote->base, f->id, (unsigned)f->sent, f->packed,
				     f->path, f->mode);
		break;
	case FILE_STAT:
		shell_protocol_stat(text, f->path);
		break;
	case FILE_LIST:
		shell_protocol_list(text, f->path);
		break;
	case FILE_KILL:
		shell_protocol_kill_all(text, f->remote->base);
		break;
	}
	json_decref(f->stats);
	f->stats = json_array();
}

/* Is it another file by now, or with other contents? One that has only grown is not. Both are texts
 * of @s. */
static bool is_another(const char *was, const char *is)
{
	long long size, before;
	unsigned long long inode, old;
	char when[64] = "", then[64] = "";
	bool known = sscanf(was, "%*x %lld %llu %63[^\n]", &before, &old, then) >= 2 &&
		     sscanf(is, "%*x %lld %llu %63[^\n]", &size, &inode, when) >= 2;
	return known &&
	       (inode != old || size < before || (size == before && strcmp(when, then) != 0));
}

static void hosted_see(struct file *f, const char *text)
{
	f->another |= f->seen && is_another(f->seen, text);
	free(f->seen);
	f->seen = mem_strdup(text);
}

static bool hosted_line(void *self, char kind, const char *text, size_t len)
{
	struct file *f = self;
	switch (kind) {
	case 's':
		if (f->what == FILE_LIST) {
			json_array_append_new(f->stats, shell_protocol_stat_of(text));
		} else {
			json_decref(f->stat);
			f->stat = shell_protocol_stat_of(text);
			if (f->what == FILE_READ)
				hosted_see(f, text);
		}
		return false;
	case 'd':
		if (f->another)
			return false;
		base64_parse(text, len, &f->data);
		return false;
	case 'n':
		err_set(&f->err, ERR_NOENT, "'%s': No such file or directory", f->path);
		return true;
	case '!':
		err_set(&f->err,
			strstr(text, "ermission") ? ERR_DENIED
			: strstr(text, "space")	  ? ERR_FULL
						  : ERR_INVALID,
			"'%s': %s", f->path, text);
		return true;
	default:
		return kind == '.';
	}
}

/* The names, in the order of the answers about them. */
static json_t *hosted_entries(struct file *f)
{
	json_t *list = json_array(), *result = json_object();
	const char *p = buf_cstr(&f->data), *end = p + f->data.len;
	for (size_t i = 0; p < end && i < json_array_size(f->stats); i++) {
		json_t *e = json_deep_copy(json_array_get(f->stats, i));
		json_put(e, "name", json_bytes_z(p));
		json_array_append_new(list, e);
		p += strlen(p) + 1;
	}
	json_put(result, "entries", list);
	return result;
}

static void hosted_encode(void *self)
{
	struct file *f = self;
	json_put_bytes(f->result, "data", buf_cstr(&f->data), f->data.len);
	buf_release(&f->data); /* here, as freeing many pages takes long, too */
}

static void hosted_encoded(void *self)
{
	struct file *f = self;
	file_end(f, take(&f->result), NULL);
}

static void hosted_end(void *self, const struct err *err);

static const struct script_how hosted_how = { .make = hosted_make,
					      .line = hosted_line,
					      .end = hosted_end };

static void hosted_end(void *self, const struct err *err)
{
	struct file *f = self;
	if (!err && f->err.code)
		err = &f->err;
	if (err) {
		struct err copy = *err;
		file_end(f, NULL, &copy);
		return;
	}
	if (f->another && ++f->anew <= READ_ANEW) {
		f->another = false;
		buf_reset(&f->data);
		script_begin(f->remote, &hosted_how, f);
		return;
	}
	if (f->another) {
		struct err changes = ERR_INIT;
		err_set(&changes, ERR_BUSY, "'%s' changed while it was read", f->path);
		file_end(f, NULL, &changes);
		return;
	}
	if (f->what == FILE_READ && f->data.len < f->max &&
	    f->data.len - f->from >= hosted_piece_of(f)) {
		script_begin(f->remote, &hosted_how, f);
		return;
	}
	if (f->what == FILE_PART) {
		f->sent++;
		if (f->sent * f->part >= f->data.len)
			f->what = FILE_WRITE;
		script_begin(f->remote, &hosted_how, f);
		return;
	}
	if (f->what == FILE_WRITE) {
		__atomic_add_fetch(&f->remote->changes, 1, __ATOMIC_RELEASE);
		mirror_stirred(f->remote->mirror, 0);
		if (strncmp(f->path, REMOTE_WORKSPACE "/", sizeof(REMOTE_WORKSPACE)) == 0)
			mirror_put(f->remote->mirror, f->path + sizeof(REMOTE_WORKSPACE), &f->data);
	}
	json_t *result = f->what == FILE_LIST ? hosted_entries(f)
			 : f->stat	      ? json_incref(f->stat)
					      : json_object();
	if (f->what != FILE_READ) {
		file_end(f, result, NULL);
		return;
	}
	f->result = result;
	if (f->data.len > ENCODE_HERE) {
		loop_job_run(f->remote->loop, hosted_encode, hosted_encoded, f);
		return;
	}
	hosted_encode(f);
	hosted_encoded(f);
}

/* Sends a large file unchanged, if the provider takes files. */
static void send_part(struct file *f);

static void on_sent(void *self, const json_t *value, const struct err *err)
{
	struct file *f = self;
	struct remote *r = f->remote;
	struct err copy = err ? *err : ERR_INIT;
	(void)value;
	if (!err && ++f->sent * f->part < f->data.len) {
		send_part(f);
		return;
	}
	f->what = FILE_WRITE;
	if (!err)
		script_begin(r, &hosted_how, f);
	if (--r->busy == 0)
		hosted_quiet(r);
	if (err)
		file_end(f, NULL, &copy);
}

static void send_part(struct file *f)
{
	static const struct remote_heard heard = { .done = on_sent };
	json_t *args = hosted_args(f->remote);
	CLEANUP(free_ptr) char *to = mem_printf("%s/%s.%zu", f->remote->base, f->id, f->sent);
	size_t from, len;
	hosted_part_of(f, &from, &len);
	json_array_append_new(args, json_string(to));
	json_array_append_new(args, json_bytes(f->data.data + from, len));
	hosted_ask(f->remote, "write", args, &heard, f);
}

/* The box is not put to sleep before all of it is there. */
static void send_whole(struct file *f)
{
	f->part = WHOLE_MAX;
	f->remote->busy++;
	hosted_awake(f->remote);
	send_part(f);
}

static struct file *file_new(struct box *b, const char *path, box_done_fn *done, void *self)
{
	struct file *f = NEW(struct file);
	*f = (struct file){ .remote = hosted_of(b), .done = done, .self = self };
	f->path = *path == '/' ? mem_strdup(path) : mem_printf("%s/%s", REMOTE_WORKSPACE, path);
	snprintf(f->id, sizeof(f->id), "f%u", ++f->remote->ids);
	return f;
}

void hosted_box_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self)
{
	struct file *f = file_new(b, path, done, self);
	f->what = FILE_READ;
	f->max = max;
	script_begin(f->remote, &hosted_how, f);
}

/* Takes @data. */
static void hosted_put_file(struct box *b, const char *path, struct buf *data, bool packed,
			    int mode, box_done_fn *done, void *self)
{
	struct file *f = file_new(b, path, done, self);
	size_t len = data->len;
	f->what = FILE_PART;
	f->mode = mode;
	f->packed = packed;
	f->part = WRAP_TEXT_MAX / 2;
	f->data = *data;
	*data = BUF_INIT;
	if (len > WRAP_TEXT_MAX / 2 && f->remote->state == AWAKE &&
	    f->remote->of->port.has(f->remote->of->port.self, "write"))
		send_whole(f);
	else
		script_begin(f->remote, &hosted_how, f);
}

void hosted_box_write(struct box *b, const char *path, const void *data, size_t len, int mode,
		      box_done_fn *done, void *self)
{
	struct buf copy = BUF_INIT;
	buf_append(&copy, data, len);
	hosted_put_file(b, path, &copy, false, mode, done, self);
}

void hosted_box_write_taken(struct box *b, const char *path, struct buf *data, int mode,
			    box_done_fn *done, void *self)
{
	hosted_put_file(b, path, data, false, mode, done, self);
}

void hosted_put_packed(struct remote *r, const char *path, const void *gz, size_t len, int mode,
		       box_done_fn *done, void *self)
{
	struct buf copy = BUF_INIT;
	buf_append(&copy, gz, len);
	hosted_put_file(&r->b, path, &copy, true, mode, done, self);
}

void hosted_box_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	struct file *f = file_new(b, path, done, self);
	f->what = FILE_LIST;
	script_begin(f->remote, &hosted_how, f);
}

void hosted_box_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	struct file *f = file_new(b, path, done, self);
	f->what = FILE_STAT;
	script_begin(f->remote, &hosted_how, f);
}

static void hosted_nobody(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

void hosted_box_kill(struct box *b)
{
	struct file *f = file_new(b, "/", hosted_nobody, NULL);
	f->what = FILE_KILL;
	script_begin(f->remote, &hosted_how, f);
}
