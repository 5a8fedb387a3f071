/* Checks that the files are still those at the start of the dry run. Repositories are compared
 * by their snapshots, which name contents. /home/agent has no snapshots and is compared by the
 * time stamps of its files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/trial/dry_run_priv.h"
#include "base/fd.h"

enum { DEPTH_MAX = 256 };

static void add_stamp(struct hash_ctx *h, const char *name, const struct stat *st)
{
	const int64_t v[] = { st->st_mode,	   (int64_t)st->st_nlink, st->st_size,
			      (int64_t)st->st_ino, st->st_mtim.tv_sec,	  st->st_mtim.tv_nsec,
			      st->st_ctim.tv_sec,  st->st_ctim.tv_nsec };
	hash_add(h, name, strlen(name) + 1);
	hash_add(h, v, sizeof(v));
}

static int dry_run_hash_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A directory that our uid may not list is its stamp: who writes below it has changed that, or
 * may not either. */
static void dry_run_hash_walk(struct hash_ctx *h, int at, const char *name, int depth)
{
	CLEANUP(strv_release) struct strv names = STRV_INIT;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (!d) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_push(&names, e->d_name);
	if (names.nr)
		qsort(names.item, names.nr, sizeof(*names.item), dry_run_hash_by_name);
	for (size_t i = 0; i < names.nr; i++) {
		struct stat st;
		if (fstatat(fd, names.item[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		add_stamp(h, names.item[i], &st);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			dry_run_hash_walk(h, fd, names.item[i], depth + 1);
	}
	closedir(d);
	hash_add(h, "", 1);
}

int dry_run_hash(struct trees *t, struct hash *out, struct err *err)
{
	struct hash_ctx h;
	CLEANUP(fd_close) int home = t->box->driver->tree->root(t->box, t->nr_layers, "upper", err);
	if (home < 0)
		return -1;
	hash_begin(&h);
	for (size_t i = 0; i < t->nr_layers; i++) {
		struct hash one;
		ws_fingerprint(t->layer[i].ws, &one);
		hash_add(&h, one.b, HASH_LEN);
	}
	dry_run_hash_walk(&h, home, ".", 0);
	hash_end(&h, out);
	return 0;
}

/* --- counters --- */

/* The place of @column among the words of @names, and the number at that place of @values. */
static int64_t dry_run_hash_pick(const char *names, const char *values, const char *column)
{
	size_t len = strlen(column);
	while (*names && *names != '\n') {
		size_t n = strcspn(names, " \n"), v = strcspn(values, " \n");
		if (n == len && !strncmp(names, column, len))
			return strtoll(values, NULL, 10);
		names += n + strspn(names + n, " ");
		values += v + strspn(values + v, " ");
	}
	return 0;
}

int64_t dry_run_counter(const char *text, const char *table, const char *column)
{
	size_t len = strlen(table);
	const char *first = NULL;
	for (const char *line = text; line && *line;) {
		const char *next = strchr(line, '\n');
		if (!strncmp(line, table, len) && line[len] == ':') {
			if (first)
				return dry_run_hash_pick(
					first, line + len + 1 + strspn(line + len + 1, " "),
					column);
			first = line + len + 1 + strspn(line + len + 1, " ");
		} else if (!strncmp(line, column, strlen(column)) && !*table) {
			return strtoll(line + strlen(column), NULL, 10); /* snmp6: "Name   value" */
		}
		line = next ? next + 1 : NULL;
	}
	return 0;
}
