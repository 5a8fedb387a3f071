#include "sandbox/view/root_masks.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/view/masks.h"
#include "sandbox/view/own_places.h"

enum { ROOT_DEPTH_MAX = 200, ROOT_TEXT_MAX = 1 << 20 };

struct root_walk {
	struct own_places own;
	json_t *hide;
	size_t nr;
	bool has_own;
	struct buf path; /* of the directory being listed, "" or ending in a slash */
	const char *root;
	struct err *err;
};

static int root_hide(struct root_walk *w, const char *name)
{
	if (++w->nr > ROOT_MASKS_MAX)
		return err_set(
			w->err, ERR_FULL,
			"root '%s' has more than %d files to hide; name a directory below it",
			w->root, ROOT_MASKS_MAX);
	CLEANUP(free_ptr) char *path = mem_printf("%s%s", buf_cstr(&w->path), name);
	json_array_append_new(w->hide, json_bytes_z(path));
	return 0;
}

static bool ends_in(const char *name, const char *tail)
{
	size_t n = strlen(name), t = strlen(tail);
	return n >= t && strcmp(name + n - t, tail) == 0;
}

/* Certificates have such names, too, and every HTTPS client needs them. */
static bool holds_key(int dir, const char *name)
{
	CLEANUP(fd_close)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false; /* unreadable to us is unreadable to the sandbox */
	return fd_read_all(fd, &text, ROOT_TEXT_MAX, &none) < 0 ||
	       masks_text_suspect(buf_cstr(&text), text.len);
}

static bool file_hidden(int dir, const char *name)
{
	if (own_places_session_name(name))
		return true;
	if (!masks_name_suspect(name, false))
		return false;
	return (!ends_in(name, ".pem") && !ends_in(name, ".key")) || holds_key(dir, name);
}

static int root_walk_dir(struct root_walk *w, int fd, int depth);

static int root_enter(struct root_walk *w, int dir, const char *name, int depth)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		fd_close(&fd);
		/* a searchable but unlistable one could still be walked through by a program that
		 * knows a name */
		return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
			       ? root_hide(w, name)
			       : 0;
	}
	bool own = own_places_at(&w->own, &st) != NULL;
	w->has_own = w->has_own || own;
	if (own || masks_name_suspect(name, true) || depth >= ROOT_DEPTH_MAX) {
		fd_close(&fd);
		return root_hide(w, name);
	}
	size_t len = w->path.len;
	buf_printf(&w->path, "%s/", name);
	int rc = root_walk_dir(w, fd, depth + 1);
	w->path.len = len;
	w->path.data[len] = 0;
	return rc;
}

static int root_entry(struct root_walk *w, int dir, const struct dirent *e, int depth)
{
	unsigned char type = e->d_type;
	struct stat st;
	if (type == DT_UNKNOWN && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		type = S_ISDIR(st.st_mode)    ? DT_DIR
		       : S_ISSOCK(st.st_mode) ? DT_SOCK
		       : S_ISREG(st.st_mode)  ? DT_REG
					      : DT_LNK;
	if (type == DT_DIR)
		return root_enter(w, dir, e->d_name, depth);
	if (type == DT_SOCK || (type == DT_REG && file_hidden(dir, e->d_name)))
		return root_hide(w, e->d_name);
	return 0;
}

static int root_walk_dir(struct root_walk *w, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	int rc = 0;
	if (!d) {
		err_sys(w->err, "can't list '%s'", w->root);
		fd_close(&fd);
		return -1;
	}
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = root_entry(w, fd, e, depth);
	closedir(d);
	return rc;
}

static int root_scan_one(struct root_walk *w, const char *root, struct err *err)
{
	if (own_places_refuse(root, err) < 0)
		return -1;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->root = root;
	w->nr = 0;
	w->hide = json_array();
	buf_reset(&w->path);
	return fd < 0 ? err_sys(err, "can't open the root '%s'", root) : root_walk_dir(w, fd, 0);
}

int root_masks_scan(const struct strv *roots, json_t **hide_out, bool *own_out, struct err *err)
{
	struct root_walk w = { .err = err };
	CLEANUP(json_release) json_t *all = json_array();
	int rc = 0;
	own_places_find(&w.own);
	for (size_t i = 0; rc == 0 && i < roots->nr; i++) {
		rc = root_scan_one(&w, roots->item[i], err);
		if (w.hide)
			json_array_append_new(all, take(&w.hide));
	}
	buf_release(&w.path);
	if (rc < 0)
		return -1;
	*own_out = w.has_own;
	*hide_out = json_incref(all);
	return 0;
}
