/* A box that fights its own snapshot: rights, links swapped in, odd files, depth, names. */
#include <pthread.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sandbox/workspace/tree.h"
#include "ws_box.h"

/* Opens what our own uid may not, as the keeper does. */
static int as_keeper(void *self, const char *which, const char *path, struct err *err)
{
	const struct ws_box *b = self;
	int old = setfsuid(0);
	char *full = mem_printf("%s/%s", strcmp(which, "upper") == 0 ? b->merged : b->lower, path);
	int fd = open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	setfsuid((uid_t)old);
	free(full);
	return fd < 0 ? err_sys(err, "cannot open") : fd;
}

static void rights(bool keeper)
{
	struct ws_box b;
	if (getuid() != 0) {
		skip(1, "needs root to change the uid");
		return;
	}
	if (!box_init(&b, true))
		return;
	sh_in(b.lower, "echo 1 > a; mkdir d; echo 2 > d/f; chown -R 65534:65534 .; chmod 711 ..");
	box_open(&b, NULL);
	sh_in(b.dir, "chown -R 65534:65534 merged");
	box_take(&b);
	if (keeper)
		ws_set_open(b.ws, as_keeper, &b);
	sh_in(b.merged, "echo secret > a; chmod 000 a; echo secret > d/f; mkdir d/e; echo deep > d/e/g; ln -s x d/l; mkfifo d/p; chown -R 65534:65534 .; chmod 000 d/e d; echo n > new");
	setfsuid(65534);
	int rc = box_take(&b);
	setfsuid(0);
	is_int(rc, 1, keeper ? "a sandbox without read permissions, with the keeper's help" : "the same without help");
	is_str(op_at(&b, "new"), "A", "a readable file is included");
	is_str(op_at(&b, "a"), "M", "an unreadable file is named");
	if (keeper) {
		is_str(op_at(&b, "d/f"), "M", "a file in a directory without rights");
		is_str(op_at(&b, "d/e/g"), "A", "and deeper");
		is_str(op_at(&b, "d/p"), "A", "a FIFO there is known by its type");
		is_str(op_at(&b, "d/l"), "A", "a link there is named");
		struct err err = ERR_INIT;
		struct object_id id;
		enum object_type type;
		struct buf out = BUF_INIT;
		object_name(OBJECT_BLOB, "deep\n", 5, &id);
		is_int(b.store.get(b.store.self, &id, &type, &out, &err), 0, "its bytes are in the record");
		buf_release(&out);
	} else {
		ok(json_flag(json_array_get(json_object_get(b.body, "changes"), 0), "unreadable", false), "as unreadable");
		ok(json_array_size(json_object_get(b.body, "unlisted")) > 0, "the directory is named as unlisted");
	}
	box_end(&b);
}

struct swap {
	char *dir;
	_Atomic bool stop;
};

static void *swapper(void *arg)
{
	struct swap *s = arg;
	char *d = mem_printf("%s/d", s->dir), *l = mem_printf("%s/l", s->dir), *t = mem_printf("%s/t", s->dir);
	while (!s->stop) {
		(void)!rename(d, t);
		(void)!rename(l, d);
		(void)!rename(d, l);
		(void)!rename(t, d);
	}
	free(d);
	free(l);
	free(t);
	return NULL;
}

static void swapped(void)
{
	struct ws_box b;
	struct object_id canary;
	struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	enum object_type type;
	if (!box_init(&b, true))
		return;
	sh_in(b.dir, "mkdir -p outside/e; echo canary-outside > outside/f; echo canary-outside > outside/e/g");
	box_open(&b, NULL);
	box_take(&b);
	sh_in(b.merged, "mkdir -p d/e; ln -s ../outside l; echo in > d/f; echo in > d/e/g");
	struct swap s = { .dir = b.merged };
	pthread_t thread;
	pthread_create(&thread, NULL, swapper, &s);
	int failed = 0;
	for (int i = 0; i < 400; i++)
		failed += box_take(&b) < 0;
	s.stop = true;
	pthread_join(thread, NULL);
	is_int(failed, 0, "400 snapshots while a directory is swapped with a link out of the tree");
	object_name(OBJECT_BLOB, "canary-outside\n", 15, &canary);
	is_int(b.store.get(b.store.self, &canary, &type, &out, &err), -1, "nothing from outside was read");
	ok(box_take(&b) >= 0 && oracle(&b), "and when it is quiet the snapshot is right");
	buf_release(&out);
	box_end(&b);
}

static void odd_files(void)
{
	struct ws_box b;
	if (!box_init(&b, true))
		return;
	box_open(&b, NULL);
	box_take(&b);
	sh_in(b.merged, "mkfifo f; ln -s f lf; ln -s /dev/zero z; mkdir -p a; ln -s .. a/up; ln -s self self");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	CLEANUP(fd_close) int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/sock", b.merged);
	ok(bind(s, (struct sockaddr *)&un, sizeof(un)) == 0, "a socket");
	char *dev = mem_printf("%s/zero", b.merged);
	if (mknod(dev, S_IFCHR | 0666, 0x105) < 0)
		printf("# no device made\n");
	free(dev);
	is_int(box_take(&b), 1, "FIFOs, sockets, devices and links to them are listed, nothing hangs");
	ok(oracle(&b), "as what they are");
	box_end(&b);
}

static void deep(void)
{
	struct ws_box b;
	if (!box_init(&b, true))
		return;
	box_open(&b, NULL);
	box_take(&b);
	int dir = open(b.merged, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int made = 0;
	for (; made < 5000; made++) {
		if (mkdirat(dir, "deep", 0755) < 0)
			break;
		int next = openat(dir, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
		if (made % 1000 == 7) {
			int fd = openat(dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			ok(write(fd, "x", 1) == 1, "a file at depth %d", made);
			close(fd);
		}
	}
	close(dir);
	is_int(made, 5000, "5,000 directories in each other");
	is_int(box_take(&b), 1, "are walked");
	is_int(json_int(b.body, "changed", 0), 4096 + 5, "down to 4,096");
	struct err err = ERR_INIT;
	struct ws_view v;
	ok(ws_view_load(&v, &b.store, b.body, &err) == 0 && v.nr == 4096 + 5, "and read back");
	ws_view_release(&v);
	ok(sh_in(b.dir, "rm -rf merged/deep") == 0 && box_take(&b) == 1, "and removed");
	is_int(json_int(b.body, "touched", -1), 0, "which leaves nothing");
	box_end(&b);
}

static void names(bool copy)
{
	struct ws_box b;
	if (!box_init(&b, copy))
		return;
	int made = 0;
	if (!box_open(&b, NULL)) {
		skip(1, "no overlay mounts here");
		box_end(&b);
		return;
	}
	box_take(&b);
	CLEANUP(fd_close) int dir = open(b.merged, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int c = 1; c < 256; c++) {
		char name[3] = { (char)c, 0, 0 };
		if (c == '/')
			continue;
		if (c == '.')
			name[1] = 'x';
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		made += fd >= 0;
		dprintf(fd, "%d", c);
		close(fd);
	}
	char longest[256];
	memset(longest, 0xff, 255);
	longest[255] = 0;
	int fd = openat(dir, longest, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	close(fd);
	static const char *const hostile[] = { "git~1", ".GIT", ".git ", "...", "-rf", "a\nb", "\x1b[31m", "con", "$(id)" };
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		close(openat(dir, hostile[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	sh_in(b.merged, "mkdir .git; echo ref > .git/HEAD; mkdir .git/hooks; echo h > .git/hooks/x");
	is_int(box_take(&b), 1, "every byte as a name");
	is_int(made, 254, "254 of them");
	ok(oracle(&b), "%s: all are there, with git's own names", copy ? "copy" : "overlay");
	ok(json_str(b.body, "git", NULL) && json_str(b.body, "tree", NULL), ".git has a tree of its own");
	is_int(json_int(b.body, "touched", 0) - json_int(b.body, "files", 0), 4, "and does not count as the sandbox's work");
	struct object_id tree, found;
	struct err err = ERR_INIT;
	unsigned mode;
	ok(object_parse(json_str(b.body, "tree", ""), &tree) && tree_find(&b.store, &tree, ".git", 4, &mode, &found, &err) == 0,
	   "and is not in the content tree");
	box_end(&b);
}

int main(void)
{
	if (!own_mounts())
		printf("# no mount namespace of our own: overlays will be skipped\n");
	rights(false);
	rights(true);
	swapped();
	odd_files();
	deep();
	names(true);
	names(false);
	return done_testing();
}
