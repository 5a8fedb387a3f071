/* policy past over the catalog: equal actions of a shard are judged once, in two processes. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalog/deeds.h"
#include "cli/policy_past.h"
#include "base/mem.h"

enum { DEED_JUDGES = 2, DEEDS_ALONE = 2000 };
static const uint32_t no_group = UINT32_MAX;

/* What became of a deed: 0 is unknown (read the session). */
enum { DEED_KNOWN = 1, DEED_FUNCTION = 2, DEED_CHANGE = 4 /* times the change */ };

struct deed_shard {
	struct shard *shard; /* borrowed */
	const char *path;    /* borrowed */
	bool used;
	size_t nr;
	uint8_t *verdict; /* of each deed; in the map */
	uint32_t *group;  /* of each deed, no_group: not yet; owned, may be NULL */
};
struct past_deeds {
	struct past_policy *p;
	const struct catalog *c;
	struct deed_shard *shard; /* owned */
	size_t nr;
	uint8_t *map; /* shared with the judges */
	size_t map_len;
};

static bool past_deeds_enough(const struct policy *policy)
{
	for (size_t i = 0; i < policy->nr_rules; i++)
		if (policy->rule[i].match) /* may look at any field of a request */
			return false;
	return true;
}

struct deed_judge {
	const struct past_policy *p;
	uint8_t *verdict;
};

static void past_deeds_judge_one(void *self, uint32_t deed, const char *text, size_t len)
{
	struct deed_judge *d = self;
	struct past_action a;
	struct judgement j;
	enum change c;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *hold = NULL;
	if (!deed_parse(text, len, &hold, &a) || policy_past_judge(d->p, &a, &j, &c, &none) < 0)
		return;
	d->verdict[deed] =
		(uint8_t)(DEED_KNOWN | (j.pending ? DEED_FUNCTION : 0) | DEED_CHANGE * (int)c);
	judgement_release(&j);
}

/* The @which-th part of each shard. A shard opened before the fork isn't used after it. */
static void past_deeds_judge(const struct past_deeds *d, size_t which, size_t judges)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct deed_shard *k = &d->shard[i];
		struct deed_judge judge = { d->p, k->verdict };
		struct shard *s = NULL;
		struct err none = ERR_INIT;
		if (!k->nr || shard_open(&s, k->path, &none) < 0)
			continue;
		uint32_t from = (uint32_t)(k->nr * which / judges),
			 to = (uint32_t)(k->nr * (which + 1) / judges);
		if (shard_deed_count(s) != k->nr ||
		    shard_deeds_each(s, from, to, past_deeds_judge_one, &judge) < 0)
			memset(k->verdict + from, 0, to - from);
		shard_close(&s);
	}
}

/* What a judge that fails leaves out, is read from the sessions. */
static void past_deeds_judge_all(const struct past_deeds *d)
{
	pid_t pid[DEED_JUDGES];
	if (d->map_len < DEEDS_ALONE) {
		past_deeds_judge(d, 0, 1);
		return;
	}
	fflush(NULL);
	for (size_t i = 0; i < DEED_JUDGES; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			past_deeds_judge(d, i, DEED_JUDGES);
			_exit(0);
		}
	}
	for (size_t i = 0; i < DEED_JUDGES; i++)
		if (pid[i] > 0)
			waitpid(pid[i], NULL, 0);
}

static void past_deeds_count(struct past_deeds *d)
{
	const struct past *past = d->p->past;
	size_t shard, at;
	for (size_t i = 0; i < past->nr_files; i++)
		if (catalog_place_of(d->c, &past->file[i], &shard, &at))
			d->shard[shard].used = true;
	for (size_t i = 0; i < d->nr; i++) {
		struct deed_shard *k = &d->shard[i];
		k->shard = catalog_shard(d->c, i, &k->path);
		k->nr = k->used ? shard_deed_count(k->shard) : 0;
		d->map_len += k->nr;
	}
}

struct past_deeds *past_deeds_new(struct past_policy *p, const struct catalog *c)
{
	if (!p->past->nr_files || !past_deeds_enough(p->policy))
		return NULL;
	struct past_deeds *d = NEW(struct past_deeds);
	*d = (struct past_deeds){ .p = p, .c = c, .nr = catalog_shard_count(c) };
	d->shard = mem_calloc(d->nr + 1, sizeof(*d->shard));
	past_deeds_count(d);
	d->map = mmap(NULL, d->map_len + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (d->map == MAP_FAILED) {
		d->map = NULL;
		past_deeds_free(&d);
		return NULL;
	}
	size_t at = 0;
	for (size_t i = 0; i < d->nr; i++) {
		d->shard[i].verdict = d->map + at;
		at += d->shard[i].nr;
	}
	past_deeds_judge_all(d);
	return d;
}

void past_deeds_free(struct past_deeds **dp)
{
	struct past_deeds *d = *dp;
	*dp = NULL;
	if (!d)
		return;
	for (size_t i = 0; i < d->nr; i++)
		free(d->shard[i].group);
	if (d->map)
		munmap(d->map, d->map_len + 1);
	free(d->shard);
	free(d);
}

static void past_deeds_group_of(void *self, uint32_t deed, const char *text, size_t len)
{
	struct past_deeds *d = self;
	struct past_action a;
	struct judgement j;
	enum change c;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *hold = NULL;
	(void)deed;
	if (!deed_parse(text, len, &hold, &a) || policy_past_judge(d->p, &a, &j, &c, &none) < 0)
		return;
	d->p->group_found = policy_past_group(d->p, c, a.row, &j);
	judgement_release(&j);
}

/* The group of a deed, worked out once. */
static bool past_deeds_group(struct past_deeds *d, struct deed_shard *k, uint32_t deed, size_t *out)
{
	if (!k->group) {
		k->group = mem_alloc(k->nr * sizeof(*k->group));
		memset(k->group, 0xff, k->nr * sizeof(*k->group));
	}
	if (k->group[deed] == no_group) {
		d->p->group_found = no_group;
		if (shard_deeds_each(k->shard, deed, deed + 1, past_deeds_group_of, d) < 0)
			return false;
		k->group[deed] = (uint32_t)d->p->group_found;
	}
	*out = k->group[deed];
	return *out != no_group;
}

/* What one session adds, before it is known that all of it can be counted. */
struct deed_session {
	size_t n[CHANGES], functions;
	uint64_t *shown; /* actions with a line of their own; owned */
	size_t nr, cap;
};

static bool past_deeds_add_up(struct past_deeds *d, struct deed_shard *k,
			      const struct shard_deed *list, size_t nr, struct deed_session *out)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t v = list[i].deed < k->nr ? k->verdict[list[i].deed] : 0;
		enum change c = (enum change)(v / DEED_CHANGE);
		size_t group;
		if (!(v & DEED_KNOWN))
			return false;
		if (policy_past_shows(d->p, c)) {
			GROW(out->shown, out->nr, out->cap);
			out->shown[out->nr++] = list[i].id;
			continue;
		}
		out->n[c]++;
		out->functions += (v & DEED_FUNCTION) != 0;
		if (c != SAME && d->p->known && !past_deeds_group(d, k, list[i].deed, &group))
			return false;
	}
	return true;
}

static void past_deeds_count_groups(struct past_deeds *d, struct deed_shard *k,
				    const struct shard_deed *list, size_t nr, const char *session)
{
	for (size_t i = 0; d->p->known && i < nr; i++) {
		enum change c = (enum change)(k->verdict[list[i].deed] / DEED_CHANGE);
		if (c != SAME && !policy_past_shows(d->p, c))
			policy_past_count(d->p, k->group[list[i].deed], session, list[i].id);
	}
}

/* Actions with a line of their own are read, and judged, from the session. */
static bool past_deeds_tell(struct past_deeds *d, const struct deed_session *one,
			    const struct session_file *f)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (!one->nr)
		return true;
	if (session_open(&s, f->path, &err) < 0)
		return false;
	if (past_some(s, one->shown, one->nr, policy_past_each, d->p, &err) < 0)
		past_left_out(d->p->past, &err);
	session_close(&s);
	return true;
}

bool past_deeds_known(void *self, const struct session_file *f)
{
	struct past_policy *p = self;
	struct past_deeds *d = p->deeds;
	struct deed_session one = { 0 };
	struct shard_deed *list = NULL;
	size_t shard, at, nr = 0;
	if (!catalog_place_of(d->c, f, &shard, &at))
		return false;
	struct deed_shard *k = &d->shard[shard];
	bool known = k->used && shard_at(k->shard, at)->id &&
		     shard_deeds_of(k->shard, at, &list, &nr) == 0 &&
		     past_deeds_add_up(d, k, list, nr, &one) && !shard_damaged(k->shard) &&
		     past_deeds_tell(d, &one, f);
	if (known) {
		for (size_t i = 0; i < CHANGES; i++)
			p->n[i] += one.n[i];
		p->functions += one.functions;
		past_deeds_count_groups(d, k, list, nr, shard_at(k->shard, at)->id);
	}
	free(one.shown);
	free(list);
	return known;
}
