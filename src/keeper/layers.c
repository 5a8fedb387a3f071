#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "wire/keeper.h"

/* the kernel takes one page of mount options */
enum { LAYERS_MAX = 64, LOWERS_MAX = 200, OPTIONS_MAX = 4000 };

#define UPPER_AHEAD "new" /* beside the uppers */

static int make_sub(const struct layer *ly, const char *name, struct err *err)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s", ly->dir, name);
	return mkdir(path, 0755) < 0 && errno != EEXIST ? err_sys(err, "can't create '%s'", path)
							: 0;
}

/* The upper's root stands for the workspace's own: its mode is what the box sees. */
static mode_t upper_mode(const struct layer *ly)
{
	CLEANUP(free_ptr) char *below = mem_printf("%s/repo", ly->dir);
	struct stat st;
	if (strcmp(ly->name, ":home") == 0)
		return 0700;
	return stat(below, &st) == 0 ? (st.st_mode & 0777) | 0700 : 0755;
}

/* An existing layer is left unchanged: a sandbox that is opened again after a crash continues
 * with its files. A directory that was made ahead gets its name once it is complete. */
static int make_upper(const struct layer *ly, bool ahead, struct err *err)
{
	CLEANUP(free_ptr)
	char *upper = mem_printf("%s/state/u0", ly->dir),
	     *made = mem_printf("%s/state/" UPPER_AHEAD, ly->dir);
	mode_t mode = upper_mode(ly);
	if (access(upper, F_OK) == 0 ||
	    (ahead && chmod(made, mode) == 0 && rename(made, upper) == 0))
		return 0;
	if (mkdir(upper, mode) < 0 || (mode & 022 && chmod(upper, mode) < 0)) /* the umask is 022 */
		return err_sys(err, "can't create '%s'", upper);
	return 0;
}

static int mount_lower_view(struct layer *ly, struct err *err)
{
	CLEANUP(free_ptr) char *view = mem_printf("%s/view", ly->dir);
	CLEANUP(free_ptr) char *options = mem_printf("lowerdir=%s,userxattr", ly->lowers);
	if (make_sub(ly, "view", err) < 0)
		return -1;
	if (chdir(ly->dir) < 0 ||
	    mount("overlay", view, "overlay", MS_NOSUID | MS_NODEV | MS_RDONLY, options) < 0)
		return err_sys(err, "can't mount the lower directories of layer '%s'", ly->name);
	ly->view = true;
	return 0;
}

/* A layer without a lower part needs no overlay, which costs a quarter of a millisecond: the
 * upper itself is the directory. But a mount that forbids programs would pass this on. */
static bool keeper_layers_is_plain(const struct layer *ly)
{
	CLEANUP(free_ptr) char *upper = mem_printf("%s/state/u0", ly->dir);
	struct statvfs v;
	return strcmp(ly->lowers, "empty") == 0 && statvfs(upper, &v) == 0 &&
	       !(v.f_flag & ST_NOEXEC);
}

static int mount_plain(struct layer *ly, struct err *err)
{
	CLEANUP(free_ptr) char *upper = mem_printf("%s/state/u0", ly->dir);
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	if (mount(upper, ly->at, NULL, MS_BIND, NULL) < 0 ||
	    syscall(SYS_mount_setattr, AT_FDCWD, ly->at, 0, &attr, sizeof(attr)) < 0)
		return err_sys(err, "can't mount the directory of layer '%s'",
			       *ly->name ? ly->name : "workspace");
	return 0;
}

static bool upper_unfit(const struct layer *ly)
{
	CLEANUP(free_ptr) char *upper = mem_printf("%s/state/u0", ly->dir);
	return keeper_upper_unfit(upper);
}

/* New files are then in memory and are lost with us; the supervisor reports this
 * (wire/keeper.h). */
static int upper_in_memory(const struct layer *ly, struct err *err)
{
	CLEANUP(free_ptr) char *state = mem_printf("%s/state", ly->dir);
	if (mount("tmpfs", state, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") < 0)
		return err_sys(err, "can't mount a tmpfs for layer '%s'",
			       *ly->name ? ly->name : "workspace");
	return make_upper(ly, false, err);
}

static int mount_layer(struct layer *ly, struct err *err)
{
	CLEANUP(buf_release) struct buf options = BUF_INIT;
	if (mkdir(ly->at, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "can't create '%s'", ly->at);
	if (keeper_layers_is_plain(ly))
		return mount_plain(ly, err);
	if (upper_unfit(ly) && upper_in_memory(ly, err) < 0)
		return -1;
	buf_printf(&options, "lowerdir=%s,upperdir=state/u0,workdir=state/w0,userxattr",
		   ly->lowers);
	if (options.len > OPTIONS_MAX)
		return err_set(err, ERR_FULL, "layer '%s' has too many lower directories",
			       ly->name);
	/* short relative names: no characters of foreign paths, and room for many */
	if (chdir(ly->dir) < 0)
		return err_sys(err, "can't enter '%s'", ly->dir);
	if (mkdir("state/w0", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "can't create the work directory of layer '%s'",
			       *ly->name ? ly->name : "workspace");
	if (mount("overlay", ly->at, "overlay", MS_NOSUID | MS_NODEV, options.data) < 0)
		return err_sys(
			err,
			"can't mount the overlay of layer '%s' (the file system of its state directory may "
			"not support it)",
			*ly->name ? ly->name : "workspace");
	if (chdir("/") < 0)
		return err_sys(err, "can't leave '%s'", ly->dir);
	return 0;
}

/* A store's alternates are known: the .git of the sandbox names them by their paths inside. */
static int hide_alternates(const char *store, struct err *err)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/info/alternates", store);
	if (access(path, F_OK) < 0)
		return 0;
	if (space_write(SPACE "/nothing", "", err) < 0)
		return -1;
	return mount(SPACE "/nothing", path, NULL, MS_BIND, NULL) < 0
		       ? err_sys(err, "can't hide '%s'", path)
		       : 0;
}

/* Objects of a repository on the host, where the .git of the box expects them. */
static int place_stores(struct keeper *k, const json_t *stores, struct err *err)
{
	for (size_t i = 0; i < json_array_size(stores); i++) {
		const json_t *store = json_array_get(stores, i);
		const char *name = json_str(store, "name", "");
		CLEANUP(free_ptr) char *from = mem_printf(SPACE_GIT "/%s", name);
		CLEANUP(free_ptr) char *at = mem_printf(SPACE_BOX "/run/sandglass/git/%s", name);
		if (!*name || name[strspn(name, "0123456789.")] || strstr(name, ".."))
			return err_set(err, ERR_INVALID,
				       "invalid name of an object directory: '%s'", name);
		if (mkdir(from, 0755) < 0)
			return err_sys(err, "can't create '%s'", from);
		if (space_place(k, json_object_get(store, "tree"), at, false, true, err) < 0 ||
		    hide_alternates(at, err) < 0)
			return -1;
	}
	return 0;
}

static int place_lowers(struct keeper *k, struct layer *ly, const json_t *request, struct err *err)
{
	const json_t *repo = json_object_get(request, "repo"),
		     *given = json_object_get(request, "lowers");
	const json_t *masks = json_object_get(request, "masks"),
		     *git = json_object_get(request, "git");
	CLEANUP(free_ptr) char *made = mem_printf("%s/git", ly->dir);
	CLEANUP(free_ptr) char *at = mem_printf("%s/%s", ly->dir, repo ? "repo" : "empty");
	CLEANUP(free_ptr) char *mask = mem_printf("%s/mask", ly->dir);
	CLEANUP(buf_release) struct buf lowers = BUF_INIT;
	if (json_array_size(given) > LOWERS_MAX)
		return err_set(err, ERR_FULL, "more than %d lower directories", LOWERS_MAX);
	if (repo ? space_place(k, repo, at, false, true, err) < 0 : make_sub(ly, "empty", err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(given); i++) {
		CLEANUP(free_ptr) char *low = mem_printf("%s/low%zu", ly->dir, i);
		if (space_place(k, json_array_get(given, i), low, false, true, err) < 0)
			return -1;
		buf_printf(&lowers, "low%zu:", i);
	}
	if (repo && json_array_size(masks)) {
		CLEANUP(fd_close) int fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (make_sub(ly, "mask", err) < 0 || masks_make(mask, fd, masks, err) < 0)
			return -1;
		buf_puts(&lowers, "mask:");
	}
	if (git && space_place(k, git, made, false, true, err) < 0)
		return -1;
	if (git)
		buf_puts(&lowers, "git:");
	buf_puts(&lowers, repo ? "repo" : "empty");
	ly->lowers = buf_take(&lowers);
	return 0;
}

static int place_state(struct keeper *k, const char *dir, const json_t *request, struct err *err)
{
	CLEANUP(free_ptr) char *state = mem_printf("%s/state", dir);
	if (mkdir(dir, 0755) < 0)
		return err_sys(err, "can't create '%s'", dir);
	return space_place(k, json_object_get(request, "state"), state, false, false, err);
}

/* @dir: below SPACE/layer. @ahead: its state is there. */
static int attach_at(struct keeper *k, struct layer *ly, const char *dir, const json_t *request,
		     bool ahead, struct err *err)
{
	const char *name = json_str(request, "name", "");
	bool home = strcmp(name, ":home") == 0;
	*ly = (struct layer){ .name = mem_strdup(name), .dir = mem_printf(SPACE "/layer/%s", dir) };
	ly->at = home	 ? mem_strdup(SPACE_HOME)
		 : *name ? mem_printf(SPACE_STAGE "/%s", name)
			 : mem_strdup(SPACE_STAGE);
	if ((!ahead && place_state(k, ly->dir, request, err) < 0) ||
	    place_lowers(k, ly, request, err) < 0 ||
	    place_stores(k, json_object_get(request, "stores"), err) < 0)
		return -1;
	if (make_upper(ly, ahead, err) < 0)
		return -1;
	if (strchr(ly->lowers, ':') && mount_lower_view(ly, err) < 0)
		return -1;
	return mount_layer(ly, err);
}

static int attach_one(struct keeper *k, size_t i, const json_t *request, struct err *err)
{
	const char *name = json_str(request, "name", "");
	char dir[24];
	if (k->layer[i].name)
		return err_set(err, ERR_INVALID, "attach: layer %zu exists", i);
	if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    (i == 0) != (*name == 0))
		return err_set(err, ERR_INVALID, "invalid name of a directory in /workspace: '%s'",
			       name);
	snprintf(dir, sizeof(dir), "%zu", i);
	return attach_at(k, &k->layer[i], dir, request, i == 0 && k->ahead, err);
}

#define HOME_AHEAD SPACE "/layer/home"
#define WORK_AHEAD SPACE "/layer/0"

static int attach_ahead(struct keeper *k, const json_t *list, struct reply *r, struct err *err)
{
	const json_t *home = json_array_get(list, 0), *work = json_array_get(list, 1);
	if (!k->guest || k->layer || k->tried || json_array_size(list) != 2 ||
	    strcmp(json_str(home, "name", ""), ":home") != 0 || *json_str(work, "name", "?"))
		return err_set(
			err, ERR_INVALID,
			"attach: expected only the home directory and the state of the workspace");
	k->tried = true;
	if (attach_at(k, &k->home, "home", home, false, err) < 0 ||
	    place_state(k, WORK_AHEAD, work, err) < 0)
		return -1;
	if (mkdir(WORK_AHEAD "/state/w0", 0700) < 0 ||
	    mkdir(WORK_AHEAD "/state/" UPPER_AHEAD, 0700) < 0)
		return err_sys(err, "can't create the directories of the workspace");
	k->ahead = true;
	r->body = json_object();
	json_put_int(r->body, "layers", 0);
	return 0;
}

static void keeper_layers_layer_release(struct layer *ly)
{
	free(ly->name);
	free(ly->dir);
	free(ly->at);
	free(ly->lowers);
	*ly = (struct layer){ 0 };
}

/* Resets the attempt completely: an error now occurs again, and is reported, at the attach. */
static void detach_ahead(struct keeper *k)
{
	static const char *const mounts[] = { SPACE_HOME, HOME_AHEAD "/state",
					      WORK_AHEAD "/state" };
	if (!k->tried || k->layer)
		return;
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
		(void)umount2(mounts[i], MNT_DETACH);
	(void)rmdir(WORK_AHEAD "/state");
	(void)rmdir(WORK_AHEAD);
	keeper_layers_layer_release(&k->home);
	k->ahead = false;
}

static void layers_expect(struct keeper *k, size_t of)
{
	k->layer = mem_calloc(of, sizeof(*k->layer));
	k->of_layers = of;
	if (!k->home.name)
		return;
	k->layer[of - 1] = k->home;
	k->home = (struct layer){ 0 };
	k->placed = 1;
}

int layers_attach(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	const json_t *list = json_object_get(request, "layers");
	size_t nr = json_array_size(list), of = (size_t)json_int(request, "of", (int64_t)nr);
	int64_t first = json_int(request, "first", 0);
	if (json_flag(request, "ahead", false))
		return attach_ahead(k, list, r, err);
	if (json_flag(request, "afresh", false))
		detach_ahead(k);
	/* after bubblewrap has its own mount namespace: mounts that it copied would be locked
	 * there */
	if (!k->guest || nr == 0 || of > LAYERS_MAX || first < 0 || (size_t)first + nr > of ||
	    (k->layer && of != k->of_layers))
		return err_set(err, ERR_INVALID, "attach: invalid request");
	if (!k->layer)
		layers_expect(k, of);
	for (size_t i = 0; i < nr; i++, k->placed++)
		if (attach_one(k, (size_t)first + i, json_array_get(list, i), err) < 0)
			return -1; /* the box is thrown away */
	if (k->placed == of)
		k->nr_layers = of;
	r->body = json_object();
	json_put_int(r->body, "layers", (int64_t)k->nr_layers);
	return 0;
}

int layers_root(struct keeper *k, const json_t *request, int *fd_out, struct err *err)
{
	int64_t i = json_int(request, "layer", -1);
	const char *which = json_str(request, "which", "");
	if (i < 0 || (size_t)i >= k->nr_layers)
		return err_set(err, ERR_INVALID, "the sandbox has no layer %lld", (long long)i);
	const struct layer *ly = &k->layer[i];
	CLEANUP(free_ptr)
	char *path = strcmp(which, "merged") == 0  ? mem_strdup(ly->at)
		     : strcmp(which, "upper") == 0 ? mem_printf("%s/state/u0", ly->dir)
		     : strcmp(which, "lower") == 0
			     ? mem_printf("%s/%s", ly->dir, ly->view ? "view" : ly->lowers)
			     : NULL;
	if (!path)
		return err_set(err, ERR_INVALID, "layers have no part '%s'", which);
	*fd_out = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd_out < 0 ? err_sys(err, "can't open %s of layer '%s'", which, ly->name) : 0;
}
