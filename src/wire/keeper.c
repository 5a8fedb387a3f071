#include "wire/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

bool keeper_upper_unfit(const char *path)
{
	static const unsigned long unfit[] = { 0x794c7630 /* overlay */, 0x6969 /* nfs */,
					       0x65735546 /* fuse */,	 0x01021997 /* 9p */,
					       0xff534d42 /* cifs */,	 0xfe534d42 /* smb */ };
	struct statfs s;
	if (statfs(path, &s) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unfit); i++)
		if ((unsigned long)s.f_type == unfit[i])
			return true;
	return false;
}

static const char *keeper_kind_of(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return st->st_rdev == makedev(0, 0) ? "whiteout" : "device";
	default:
		return "device";
	}
}

void keeper_put_stat(json_t *j, const struct stat *st)
{
	json_put_str(j, "kind", keeper_kind_of(st));
	json_put_int(j, "mode", st->st_mode & 07777);
	json_put_int(j, "size", st->st_size);
	json_put_int(j, "mtime_us",
		     (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000);
	json_put_int(j, "nlink", (int64_t)st->st_nlink);
}

static int keeper_by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int keeper_put_entries(json_t *body, int fd, struct err *err)
{
	DIR *d = fdopendir(fd);
	struct strv names = STRV_INIT;
	const struct dirent *e;
	if (!d) {
		fd_close(&fd);
		return err_sys(err, "can't list a directory");
	}
	while (names.nr <= KEEPER_LIST_MAX && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_push(&names, e->d_name);
	bool more = names.nr > KEEPER_LIST_MAX;
	json_t *list = json_array();
	if (names.nr)
		/* lengths go astray: not used below */
		qsort(names.item, names.nr, sizeof(*names.item), keeper_by_bytes);
	for (size_t i = 0; i < names.nr; i++) {
		struct stat st;
		char target[4097];
		if (fstatat(fd, names.item[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* gone meanwhile */
		json_t *one = json_object();
		json_put_bytes(one, "name", names.item[i], strlen(names.item[i]));
		keeper_put_stat(one, &st);
		ssize_t n = S_ISLNK(st.st_mode)
				    ? readlinkat(fd, names.item[i], target, sizeof(target) - 1)
				    : -1;
		if (n >= 0)
			json_put_bytes(one, "target", target, (size_t)n);
		json_array_append_new(list, one);
	}
	json_put(body, "entries", list);
	if (more)
		json_put_flag(body, "more", true);
	strv_release(&names);
	closedir(d);
	return 0;
}
