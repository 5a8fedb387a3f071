#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/catalog_priv.h"
#include "sessions/index_background.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/paths.h"

static const char catalog_suffix[] = ".shard";
/* Two writes so close to each other may leave the same time. */
enum { SETTLED_US = 2000000 };

const char *catalog_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool catalog_settled(const struct session_file *f)
{
	return f->mtime_us && !f->shared_by && f->mtime_us < clock_wall_us() - SETTLED_US;
}

static int catalog_by_file(const void *va, const void *vb)
{
	const struct catalog_entry *a = va, *b = vb;
	return strcmp(a->file, b->file);
}

static void catalog_add(struct catalog *c, char *path)
{
	struct err none = ERR_INIT;
	struct shard *s;
	if (shard_open(&s, path, &none) < 0) {
		c->damaged += none.code == ERR_DAMAGED;
		strv_push(&c->odd, path);
		free(path);
		return;
	}
	for (size_t i = 0; i < shard_count(s); i++) {
		GROW(c->entry, c->entries, c->entry_cap);
		c->entry[c->entries++] = (struct catalog_entry){ shard_at(s, i)->file, c->nr, i };
	}
	GROW(c->shard, c->nr, c->cap);
	c->shard[c->nr++] = (struct catalog_shard){ s, path };
}

static void catalog_read(struct catalog *c, const char *place)
{
	DIR *d = opendir(place);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), suffix = sizeof(catalog_suffix) - 1;
		if (n > suffix && !strcmp(e->d_name + n - suffix, catalog_suffix))
			catalog_add(c, path_join(place, e->d_name));
	}
	if (d)
		closedir(d);
}

struct catalog *catalog_open(const char *dir)
{
	struct catalog *c = NEW(struct catalog);
	CLEANUP(free_ptr) char *here = path_join(dir, "catalog"), *place = catalog_place(dir);
	catalog_read(c, here);
	if (strcmp(here, place) != 0)
		catalog_read(c, place);
	if (c->entries)
		qsort(c->entry, c->entries, sizeof(*c->entry), catalog_by_file);
	return c;
}

void catalog_close(struct catalog **cp)
{
	struct catalog *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	for (size_t i = 0; i < c->nr; i++) {
		shard_close(&c->shard[i].shard);
		free(c->shard[i].path);
	}
	strv_release(&c->odd);
	free(c->shard);
	free(c->entry);
	free(c);
}

void catalog_doubt(struct catalog *c)
{
	for (size_t i = c->nr; i-- > 0;)
		if (!shard_intact(c->shard[i].path))
			shard_distrust(c->shard[i].shard);
}

/* A file may be in two shards while one replaces the other. */
static const struct catalog_entry *catalog_entry_of(const struct catalog *c,
						    const struct session_file *f)
{
	const char *name = catalog_name(f->path);
	size_t low = 0, high = c->entries;
	if (f->shared_by)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(c->entry[middle].file, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->entries && !strcmp(c->entry[low].file, name); low++) {
		const struct catalog_entry *e = &c->entry[low];
		const struct shard_session *s = shard_at(c->shard[e->shard].shard, e->at);
		if (s->size == f->size && s->mtime_us == f->mtime_us &&
		    !shard_damaged(c->shard[e->shard].shard))
			return e;
	}
	return NULL;
}

const struct shard_session *catalog_known(const struct catalog *c, const struct session_file *f,
					  size_t *shard_out)
{
	const struct catalog_entry *e = catalog_entry_of(c, f);
	if (e && shard_out)
		*shard_out = e->shard;
	return e ? shard_at(c->shard[e->shard].shard, e->at) : NULL;
}

const struct shard_session *catalog_find(const struct catalog *c, const struct session_file *f)
{
	const struct shard_session *s = catalog_known(c, f, NULL);
	return s && *s->state ? s : NULL;
}

json_t *catalog_details(const struct catalog *c, const struct session_file *f)
{
	const struct catalog_entry *e = catalog_find(c, f) ? catalog_entry_of(c, f) : NULL;
	json_t *details = e ? shard_details(c->shard[e->shard].shard, e->at) : NULL;
	if (details && shard_damaged(c->shard[e->shard].shard)) {
		json_decref(details);
		details = NULL;
	}
	return details;
}

bool catalog_place_of(const struct catalog *c, const struct session_file *f, size_t *shard_out,
		      size_t *at_out)
{
	const struct catalog_entry *e = catalog_find(c, f) ? catalog_entry_of(c, f) : NULL;
	*shard_out = e ? e->shard : 0;
	*at_out = e ? e->at : 0;
	return e != NULL;
}

size_t catalog_shard_count(const struct catalog *c)
{
	return c->nr;
}

struct shard *catalog_shard(const struct catalog *c, size_t i, const char **path_out)
{
	*path_out = c->shard[i].path;
	return c->shard[i].shard;
}

size_t catalog_damaged(const struct catalog *c)
{
	size_t damaged = c->damaged;
	for (size_t i = 0; i < c->nr; i++)
		damaged += shard_damaged(c->shard[i].shard);
	return damaged;
}

void catalog_ask(struct catalog *c, const struct filter *f)
{
	for (size_t i = 0; i < c->nr; i++)
		shard_ask(c->shard[i].shard, f);
}

bool catalog_may_match(const struct catalog *c, const struct session_file *f)
{
	const struct catalog_entry *e = catalog_entry_of(c, f);
	return !e || shard_may_match(c->shard[e->shard].shard, e->at);
}

void catalog_finish_later(const struct catalog *c, const struct session_files *files,
			  const char *dir)
{
	size_t due = 0;
	for (size_t i = 0; i < files->nr; i++)
		due += catalog_settled(&files->item[i]) && !catalog_known(c, &files->item[i], NULL);
	if ((due >= CATALOG_DUE || catalog_damaged(c)) && access(dir, W_OK) == 0)
		catalog_background(dir);
}
