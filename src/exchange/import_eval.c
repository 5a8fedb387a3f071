/* Inspect's own form of an eval log, .eval: a zip archive of JSON documents. _journal/start.json
 * (from the beginning on) and header.json (written at the end) say what was evaluated,
 * samples/NAME.json are the samples, each as in a .json log. */
#include <string.h>

#include "exchange/import_inspect.h"
#include "exchange/unzip.h"
#include "base/mem.h"

struct eval {
	struct import *im;
	json_t *head;
	size_t nr; /* files that were wanted */
};

static bool is_head(void *self, const char *name)
{
	const struct eval *e = self;
	return !e->head && (!strcmp(name, "header.json") || !strcmp(name, "_journal/start.json"));
}

static bool is_sample(void *self, const char *name)
{
	size_t len = strlen(name);
	(void)self;
	return !strncmp(name, "samples/", 8) && len > 5 && !strcmp(name + len - 5, ".json");
}

static json_t *import_eval_document(struct eval *e, const char *name, const char *bytes, size_t len,
				    const struct err *failed)
{
	struct err err = ERR_INIT;
	json_t *doc = bytes ? import_json(bytes, len, name, &err) : NULL;
	e->nr++;
	if (doc)
		return doc;
	CLEANUP(free_ptr) char *why = mem_printf("%s: %s", name, failed ? failed->text : err.text);
	import_gap(e->im, e->nr, len, why);
	return NULL;
}

static void import_eval_on_head(void *self, const char *name, const char *bytes, size_t len,
				const struct err *err)
{
	struct eval *e = self;
	e->head = import_eval_document(e, name, bytes, len, err);
}

static void on_sample(void *self, const char *name, const char *bytes, size_t len,
		      const struct err *err)
{
	struct eval *e = self;
	json_t *sample = import_eval_document(e, name, bytes, len, err);
	if (sample)
		inspect_sample(e->im, sample,
			       json_str(json_object_get(e->head, "eval"), "model", NULL));
	json_decref(sample);
}

bool is_eval(const char *head, size_t len)
{
	static const char zip[] = "PK\3\4";
	return len > 4 && !memcmp(head, zip, 4) &&
	       (memmem(head, len, "_journal/start.json", 19) ||
		memmem(head, len, "header.json", 11));
}

int import_eval(struct import *im, FILE *in, struct err *err)
{
	struct eval e = { .im = im };
	struct unzip heads = {
		.wanted = is_head, .file = import_eval_on_head, .self = &e, .max = IMPORT_LINE_MAX
	};
	struct unzip samples = {
		.wanted = is_sample, .file = on_sample, .self = &e, .max = IMPORT_FILE_MAX
	};
	struct err broken = ERR_INIT;
	int rc = unzip_each(in, &heads, &broken);
	import_time(im, json_str(json_object_get(e.head, "eval"), "created", NULL));
	e.nr = 0;
	rc = unzip_each(in, &samples, &broken);
	if (rc < 0 && e.nr)
		import_gap(im, e.nr + 1, 0, broken.text);
	else if (rc < 0)
		*err = broken;
	if (rc == 0 && !e.head && !e.nr)
		rc = err_set(err, ERR_PARSE,
			     "not an eval log: neither header.json nor samples found");
	json_decref(e.head);
	return e.nr ? 0 : rc;
}
