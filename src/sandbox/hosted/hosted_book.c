#include "sandbox/hosted/hosted_book.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

enum { BOX_MAX = 1 << 20, TAG_BYTES = 8 };

struct book_entry {
	char *path, *lock_path, *tag;
	int lock;
};

static char *hosted_book_folder(void)
{
	return paths_state("rented");
}

static char *hosted_book_random_name(void)
{
	unsigned char raw[TAG_BYTES];
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	random_bytes(raw, sizeof(raw));
	hex_append(&hex, raw, sizeof(raw));
	return buf_take(&hex);
}

static void entry_free(struct book_entry *e)
{
	fd_close(&e->lock);
	free(e->path);
	free(e->lock_path);
	free(e->tag);
	free(e);
}

static struct book_entry *hosted_book_entry_of(const char *dir, const char *provider,
					       const char *tag)
{
	struct book_entry *e = NEW(struct book_entry);
	e->tag = mem_strdup(tag);
	e->path = mem_printf("%s/%s-%s.json", dir, provider, tag);
	e->lock_path = mem_printf("%s/%s-%s.lock", dir, provider, tag);
	e->lock = -1;
	return e;
}

/* 0: ours; 1: another process has it; -1: trouble. */
static int hosted_book_lock(struct book_entry *e, int flags)
{
	e->lock = open(e->lock_path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (e->lock < 0)
		return -1;
	return flock(e->lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? 1 : -1;
}

int hosted_book_open(struct book_entry **out, const char *provider, struct err *err)
{
	CLEANUP(free_ptr) char *dir = hosted_book_folder();
	CLEANUP(free_ptr) char *tag = hosted_book_random_name();
	if (dir_make(dir, 0700, err) < 0)
		return err_wrap(err, "can't record the hosted sandbox");
	struct book_entry *e = hosted_book_entry_of(dir, provider, tag);
	CLEANUP(json_release) json_t *nothing = json_object();
	if (hosted_book_lock(e, O_CREAT) != 0) {
		err_sys(err, "can't lock '%s'", e->lock_path);
		entry_free(e);
		return -1;
	}
	if (hosted_book_put(e, nothing, err) < 0) {
		hosted_book_close(&e, true);
		return -1;
	}
	*out = e;
	return 0;
}

const char *hosted_book_tag(const struct book_entry *e)
{
	return e->tag;
}

int hosted_book_put(struct book_entry *e, const json_t *box, struct err *err)
{
	CLEANUP(free_ptr) char *text = json_dump_str(box);
	return file_write_atomic(e->path, text, strlen(text), 0600, err);
}

void hosted_book_close(struct book_entry **ep, bool gone)
{
	struct book_entry *e = *ep;
	*ep = NULL;
	if (!e)
		return;
	if (gone) {
		unlink(e->path);
		unlink(e->lock_path);
	}
	entry_free(e);
}

char *hosted_book_owner(struct err *err)
{
	CLEANUP(free_ptr) char *dir = hosted_book_folder();
	CLEANUP(free_ptr) char *path = path_join(dir, "owner");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (file_read(path, &text, 64, &none) == 0 && text.len == 2 * TAG_BYTES)
		return buf_take(&text);
	CLEANUP(free_ptr) char *name = hosted_book_random_name();
	if (dir_make(dir, 0700, err) < 0)
		return NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) { /* another process was faster */
		buf_reset(&text);
		return file_read(path, &text, 64, err) == 0 ? buf_take(&text) : NULL;
	}
	int rc = fd < 0 ? err_sys(err, "can't create '%s'", path)
			: fd_write_all(fd, name, strlen(name), err);
	fd_close(&fd);
	return rc == 0 ? mem_strdup(name) : NULL;
}

static struct book_entry *try_orphan(const char *dir, const char *provider, const char *file)
{
	size_t len = strlen(file), plen = strlen(provider);
	if (len != plen + 1 + 2 * TAG_BYTES + 5 || strncmp(file, provider, plen) != 0 ||
	    file[plen] != '-' || strcmp(file + len - 5, ".json") != 0)
		return NULL;
	CLEANUP(free_ptr) char *tag = mem_strndup(file + plen + 1, 2 * TAG_BYTES);
	struct book_entry *e = hosted_book_entry_of(dir, provider, tag);
	if (hosted_book_lock(e, O_CREAT) == 0 && access(e->path, F_OK) == 0)
		return e;
	entry_free(e);
	return NULL;
}

struct book_entry *hosted_book_orphan(const char *provider)
{
	CLEANUP(free_ptr) char *dir = hosted_book_folder();
	struct book_entry *found = NULL;
	DIR *d = opendir(dir);
	if (!d)
		return NULL;
	for (const struct dirent *f; !found && (f = readdir(d));)
		found = try_orphan(dir, provider, f->d_name);
	closedir(d);
	return found;
}

void hosted_book_each(book_entry_fn *fn, void *self)
{
	CLEANUP(free_ptr) char *dir = hosted_book_folder();
	DIR *d = opendir(dir);
	const struct dirent *f;
	while (d && (f = readdir(d))) {
		const size_t len = strlen(f->d_name), tail = 1 + 2 * TAG_BYTES + 5; /* -TAG.json */
		if (len <= tail || f->d_name[len - tail] != '-' ||
		    strcmp(f->d_name + len - 5, ".json") != 0)
			continue;
		CLEANUP(free_ptr) char *provider = mem_strndup(f->d_name, len - tail);
		CLEANUP(free_ptr)
		char *tag = mem_strndup(f->d_name + len - tail + 1, 2 * TAG_BYTES);
		struct book_entry *e = hosted_book_entry_of(dir, provider, tag);
		CLEANUP(json_release) json_t *box = hosted_book_box(e);
		if (!box)
			box = json_object();
		entry_free(e);
		fn(self, provider, tag, box, hosted_book_lives(provider, tag));
	}
	if (d)
		closedir(d);
}

json_t *hosted_book_box(const struct book_entry *e)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	if (file_read(e->path, &text, BOX_MAX, &none) < 0)
		return NULL;
	json_t *box = json_parse(buf_cstr(&text), text.len, e->path, &none);
	if (json_object_size(box))
		return box;
	json_decref(box);
	return NULL;
}

bool hosted_book_lives(const char *provider, const char *tag)
{
	CLEANUP(free_ptr) char *dir = hosted_book_folder();
	struct book_entry *e = hosted_book_entry_of(dir, provider, tag);
	bool lives = hosted_book_lock(e, 0) == 1;
	entry_free(e);
	return lives;
}
