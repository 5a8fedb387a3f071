#include "query/saved.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"

void saved_load(struct saved_filters *f, const char *path)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char *save = NULL;
	if (file_read(path, &text, 1 << 20, &err) < 0)
		return;
	for (char *l = text.len ? strtok_r(text.data, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(l, ' ');
		if (!blank)
			continue;
		*blank = 0;
		saved_put(f, l, blank + 1);
	}
}

void saved_release(struct saved_filters *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		free(f->one[i].name);
		free(f->one[i].text);
	}
	free(f->one);
	*f = (struct saved_filters){ 0 };
}

static struct saved_one *saved_find(const struct saved_filters *f, const char *name)
{
	for (size_t i = 0; i < f->nr; i++)
		if (strcmp(f->one[i].name, name) == 0)
			return &f->one[i];
	return NULL;
}

static const char *saved_get(const struct saved_filters *f, const char *name)
{
	const struct saved_one *one = saved_find(f, name);
	return one ? one->text : NULL;
}

void saved_put(struct saved_filters *f, const char *name, const char *text)
{
	struct saved_one *one = saved_find(f, name);
	if (!one) {
		GROW(f->one, f->nr, f->cap);
		one = &f->one[f->nr++];
		*one = (struct saved_one){ .name = mem_strdup(name) };
	}
	free(one->text);
	one->text = mem_strdup(text);
}

bool saved_remove(struct saved_filters *f, const char *name)
{
	struct saved_one *one = saved_find(f, name);
	if (!one)
		return false;
	free(one->name);
	free(one->text);
	*one = f->one[--f->nr];
	return true;
}

int saved_store(const struct saved_filters *f, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < f->nr; i++)
		buf_printf(&out, "%s %s\n", f->one[i].name, f->one[i].text);
	CLEANUP(free_ptr) char *dir = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
	if (slash && dir_make(dir, 0700, err) < 0)
		return -1;
	return file_write_atomic(path, buf_cstr(&out), out.len, 0600, err);
}

static const char *saved_look_up(void *self, const char *name)
{
	return saved_get(self, name);
}

struct filter_saved saved_lookup(struct saved_filters *f)
{
	return (struct filter_saved){ saved_look_up, f };
}
