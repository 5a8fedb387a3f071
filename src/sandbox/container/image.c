#include "sandbox/container/image.h"

#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "action/glob.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/container/tar.h"

enum { MAX_TAR = 1 << 30, MAX_IGNORE = 1 << 20 };
#define LONG_US (60 * 60 * 1000000LL)

/* --- options --- */

static int take_build(struct image *i, const json_t *build, struct err *err)
{
	const char *path =
		json_is_string(build) ? json_string_value(build) : json_str(build, "dir", "");
	struct stat st;
	if (!*path || stat(path, &st) < 0)
		return err_set(err, ERR_NOENT, "build: directory or Dockerfile not found: '%s'",
			       path);
	i->dir = realpath(path, NULL);
	i->file = mem_strdup(json_str(build, "file", "Dockerfile"));
	if (i->dir && !S_ISDIR(st.st_mode)) {
		char *slash = strrchr(i->dir, '/');
		free(i->file);
		i->file = mem_strdup(slash + 1);
		slash[slash == i->dir] = 0;
	}
	CLEANUP(free_ptr) char *full = i->dir ? path_join(i->dir, i->file) : NULL;
	if (!full || strstr(i->file, "..") || access(full, R_OK) < 0)
		return err_set(err, ERR_NOENT, "build: file not found in '%s': '%s'", path,
			       i->file);
	i->args = json_deep_copy(json_object_get(build, "args"));
	i->net = json_str(build, "net", NULL) ? mem_strdup(json_str(build, "net", NULL)) : NULL;
	return 0;
}

int image_take(struct image *i, const json_t *options, struct err *err)
{
	const json_t *build = json_object_get(options, "build"),
		     *image = json_object_get(options, "image");
	*i = (struct image){ .pull = json_flag(options, "pull", true), .tar = BUF_INIT };
	if (build && image)
		return err_set(err, ERR_INVALID,
			       "backend container: expected either 'image' or 'build', got both");
	if (build)
		return take_build(i, build, err);
	if (json_is_object(image)) {
		const char *dir = json_str(image, "dir", "");
		struct stat st;
		if (!*dir || stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_NOENT, "image: directory not found: '%s'", dir);
		i->dir = realpath(dir, NULL);
		return 0;
	}
	const char *name = json_string_value(image);
	if (name && strlen(name) > NAME_MAX)
		return err_set(err, ERR_INVALID,
			       "image: '%.40s...' has %zu characters; the limit is %d", name,
			       strlen(name), NAME_MAX);
	if (!name || !*name || *name == '-')
		return err_set(
			err, ERR_INVALID,
			"backend container: missing option: image; set image = 'debian:12', or build = DIR");
	i->name = mem_strdup(name);
	return 0;
}

void image_release(struct image *i)
{
	free(i->name);
	free(i->dir);
	free(i->file);
	free(i->net);
	json_decref(i->args);
	json_decref(i->about);
	json_decref(i->from);
	buf_release(&i->tar);
	*i = (struct image){ 0 };
}

/* --- packing --- */

struct ignore {
	struct strv pattern; /* in order; the last that matches counts; "!" before it takes back */
	const char *keep;    /* the Dockerfile is needed always */
};

static bool image_matches(const char *pattern, const char *path)
{
	char at[4096];
	size_t n = strlen(path);
	if (n >= sizeof(at))
		return false;
	memcpy(at, path, n + 1);
	for (;;) { /* a pattern for a directory is one for all in it */
		if (glob_match(GLOB_PATH, pattern, at, strlen(at)))
			return true;
		char *slash = strrchr(at, '/');
		if (!slash)
			return false;
		*slash = 0;
	}
}

static bool image_ignored(void *self, const char *path, bool folder)
{
	const struct ignore *g = self;
	bool out = false;
	if (strcmp(path, g->keep) == 0)
		return false;
	for (size_t i = 0; i < g->pattern.nr; i++) {
		const char *p = g->pattern.item[i];
		bool back = *p == '!';
		if (image_matches(p + back, path))
			out = !back;
		else if (folder && back)
			out = false; /* something below may be taken back */
	}
	return out;
}

static void read_ignore(const char *dir, struct ignore *g)
{
	CLEANUP(free_ptr) char *path = path_join(dir, ".dockerignore");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	char *line, *rest = NULL;
	if (access(path, F_OK) < 0 || file_read(path, &text, MAX_IGNORE, &none) < 0)
		return;
	for (line = strtok_r(text.data, "\r\n", &rest); line;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		size_t n = strlen(line);
		while (n && (line[n - 1] == ' ' || line[n - 1] == '/'))
			line[--n] = 0;
		bool back = *line == '!';
		char *p = line + back;
		while (p[0] == '/' || (p[0] == '.' && p[1] == '/'))
			p += p[0] == '/' ? 1 : 2;
		if (!*p || *line == '#')
			continue;
		CLEANUP(free_ptr) char *clean = mem_printf("%s%s", back ? "!" : "", p);
		strv_push(&g->pattern, clean);
	}
}

int image_pack(struct image *i, struct err *err)
{
	struct ignore g = { .pattern = STRV_INIT, .keep = i->file };
	const struct tar_opts build = { .leave_out = image_ignored, .self = &g, .max = MAX_TAR },
			      root = { .owners = true, .max = MAX_TAR };
	CLEANUP(buf_release) struct buf key = BUF_INIT, hex = BUF_INIT;
	struct hash h;
	if (!i->dir)
		return 0;
	if (i->file)
		read_ignore(i->dir, &g);
	int rc = tar_folder(i->dir, i->file ? &build : &root, &i->tar, err);
	strv_release(&g.pattern);
	if (rc < 0)
		return -1;
	hash_of(i->tar.data, i->tar.len, &h);
	buf_append(&key, h.b, HASH_LEN);
	if (i->file)
		buf_append(&key, i->file, strlen(i->file) + 1);
	if (i->args)
		json_dump_buf(i->args, &key);
	hash_of(key.data, key.len, &h);
	hex_append(&hex, h.b, 16);
	i->name = mem_printf("sandglass-%s:%s", i->file ? "build" : "root", buf_cstr(&hex));
	return 0;
}

/* --- the end of asking --- */

static void image_finish(struct image *i, const struct err *err)
{
	buf_release(&i->tar);
	i->done(i->self, err);
}

static void image_say(const struct image *i, const char *text)
{
	size_t len = strcspn(text, "\r\n");
	if (i->progress && len)
		i->progress(i->progress_self, text, len);
}

static void put_name(struct buf *to, const char *name)
{
	for (const char *p = name; *p; p++)
		if (strchr("/:@.-_", *p) || (*p >= '0' && *p <= '9') ||
		    ((*p | 32) >= 'a' && (*p | 32) <= 'z'))
			buf_append(to, p, 1);
		else
			buf_printf(to, "%%%02X", (unsigned char)*p);
}

static void image_look_at(struct image *i, const char *name, box_done_fn *done)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_puts(&path, "/images/");
	put_name(&path, name);
	buf_puts(&path, "/json");
	engine_call(i->engine, "GET", buf_cstr(&path), NULL, done, i);
}

/* --- what it was made from --- */

static void ask_for_base(struct image *i);

static void on_base(void *self, json_t *body, const struct err *err)
{
	struct image *i = self;
	json_t *one = json_array_get(i->from, i->asked++);
	(void)err; /* "scratch", or an earlier stage */
	const json_t *digest = json_array_get(json_object_get(body, "RepoDigests"), 0);
	json_put_str(one, "id", json_str(body, "Id", NULL));
	json_put_str(one, "digest", json_string_value(digest));
	ask_for_base(i);
}

static void ask_for_base(struct image *i)
{
	const json_t *one = json_array_get(i->from, i->asked);
	if (one) {
		image_look_at(i, json_str(one, "name", ""), on_base);
		return;
	}
	json_t *built = json_object();
	json_put(built, "from", take(&i->from));
	json_put_int(built, "steps", i->steps);
	json_put_int(built, "cached", i->cached);
	json_put_int(built, "us", clock_mono_us() - i->began_us);
	json_put(i->about, "built", built);
	image_finish(i, NULL);
}

static void on_there(void *self, json_t *body, const struct err *err)
{
	struct image *i = self;
	if (!body) {
		image_finish(i, err);
		return;
	}
	i->about = json_object();
	json_put_str(i->about, "id", json_str(body, "Id", NULL));
	json_put_str(i->about, "digest",
		     json_string_value(json_array_get(json_object_get(body, "RepoDigests"), 0)));
	json_put(i->about, "layers",
		 json_deep_copy(json_object_get(json_object_get(body, "RootFS"), "Layers")));
	if (i->file && i->began_us) {
		ask_for_base(i);
		return;
	}
	if (i->file)
		json_put(i->about, "built", json_pack("{s:b}", "cached", 1));
	image_finish(i, NULL);
}

/* --- fetching, giving, building --- */

static void on_made(void *self, json_t *body, const struct err *err)
{
	struct image *i = self;
	struct err why = ERR_INIT;
	if (body) {
		image_look_at(i, i->name, on_there);
		return;
	}
	if (i->file)
		err_set(&why, err->code, "can't build the image from '%.150s/%s': %.250s", i->dir,
			i->file, err->text);
	else if (i->dir)
		err_set(&why, err->code, "can't load '%.150s' as an image: %.250s", i->dir,
			err->text);
	else
		err_set(&why, err->code, "can't fetch the image '%s': %.200s", i->name, err->text);
	image_finish(i, &why);
}

static void image_on_line(void *self, const json_t *line)
{
	struct image *i = self;
	const char *text = json_str(line, "stream", json_str(line, "status", ""));
	text += strspn(text, " ");
	if (strncmp(text, "Step ", 5) == 0 || strncmp(text, "STEP ", 5) == 0) {
		const char *from = strstr(text, "FROM ");
		i->steps++;
		if (from) {
			from += 5 + strspn(from + 5, " ");
			CLEANUP(free_ptr) char *name = mem_strndup(from, strcspn(from, " \r\n"));
			json_array_append_new(i->from, json_pack("{s:s}", "name", name));
		}
	}
	i->cached += strstr(text, "Using cache") != NULL;
	if (!json_object_get(line, "progressDetail") ||
	    json_object_size(json_object_get(line, "progressDetail")) == 0)
		image_say(i, text);
}

static void image_make(struct image *i)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct engine_request r = { .method = "POST",
				    .total_us = LONG_US,
				    .on_line = image_on_line };
	if (i->file) {
		i->from = json_array();
		i->began_us = clock_mono_us();
		buf_puts(&path, "/build?rm=1&forcerm=1&t=");
		put_name(&path, i->name);
		buf_puts(&path, "&dockerfile=");
		put_name(&path, i->file);
		if (i->args) {
			CLEANUP(buf_release) struct buf args = BUF_INIT;
			json_dump_buf(i->args, &args);
			buf_puts(&path, "&buildargs=");
			put_name(&path, buf_cstr(&args));
		}
		if (i->net) {
			buf_puts(&path, "&networkmode=");
			put_name(&path, i->net);
		}
	} else if (i->dir) {
		/* Podman knows no tag of its own here */
		buf_printf(&path, "/images/create?fromSrc=-&repo=%s", i->name);
	} else {
		const char *last = strrchr(i->name, '/');
		buf_puts(&path, "/images/create?fromImage=");
		put_name(&path, i->name);
		buf_puts(&path, strpbrk(last ? last : i->name, ":@") ? "" : "&tag=latest");
	}
	r.path = buf_cstr(&path);
	if (i->dir) {
		r.tar = i->tar.data;
		r.tar_len = i->tar.len;
	}
	engine_send(i->engine, &r, on_made, i);
}

static void on_there_or_not(void *self, json_t *body, const struct err *err)
{
	struct image *i = self;
	struct err why = ERR_INIT;
	if (body || err->code != ERR_NOENT) {
		on_there(i, body, err);
	} else if (!i->dir && !i->pull) {
		err_set(&why, ERR_NOENT, "image '%s' not found, and fetching is off (pull = false)",
			i->name);
		image_finish(i, &why);
	} else {
		image_make(i);
	}
}

void image_get(struct image *i, struct engine *e, void (*done)(void *self, const struct err *err),
	       void *self)
{
	i->engine = e;
	i->done = done;
	i->self = self;
	image_look_at(i, i->name, on_there_or_not);
}
