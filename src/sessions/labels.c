#include "sessions/labels.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "query/filter.h"
#include "wire/event.h"

enum { LABEL_NAME_MOST = 63, LABEL_VALUE_MOST = 255, LABEL_PAGE = 64 };

static bool label_name_good(const char *name, size_t len)
{
	if (!len || len > LABEL_NAME_MOST || !isalnum((unsigned char)*name) ||
	    !isalnum((unsigned char)name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-/", name[i]))
			return false;
	return true;
}

static bool label_value_good(const char *value)
{
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			return false;
	return strlen(value) <= LABEL_VALUE_MOST;
}

static int label_refused(const char *word, struct err *err)
{
	return err_set(
		err, ERR_USAGE,
		"label '%s': expected NAME or NAME=VALUE; a name has up to 63 letters, digits, "
		"and . _ - /, a value up to 255 bytes",
		word);
}

static bool labels_change_has(const json_t *set, const json_t *unset, const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach((json_t *)(uintptr_t)unset, i,
			   one) if (!strcmp(json_string_value(one), name)) return true;
	return json_object_get(set, name) != NULL;
}

static int label_change(json_t *set, json_t *unset, const char *word, bool removes, struct err *err)
{
	const char *name = removes && *word == '+' ? word + 1 : word, *equal = strchr(name, '=');
	size_t len = equal ? (size_t)(equal - name) : strlen(name);
	bool gone = removes && !equal && len > 1 && name == word && name[len - 1] == '-';
	len -= gone;
	if (!label_name_good(name, len) || (equal && !label_value_good(equal + 1)))
		return label_refused(word, err);
	CLEANUP(free_ptr) char *key = mem_strndup(name, len);
	CLEANUP(json_release) json_t *value = json_string(equal ? equal + 1 : "");
	if (!value) /* not UTF-8 */
		return label_refused(word, err);
	if (labels_change_has(set, unset, key))
		return err_set(err, ERR_USAGE, "label '%s': given more than once", key);
	if (gone)
		json_array_append_new(unset, json_string(key));
	else
		json_object_set(set, key, value);
	return 0;
}

json_t *labels_change(const char *const *words, size_t nr, bool removes, struct err *err)
{
	CLEANUP(json_release) json_t *set = json_object(), *unset = json_array();
	for (size_t i = 0; i < nr; i++)
		if (label_change(set, unset, words[i], removes, err) < 0)
			return NULL;
	json_t *body = json_object();
	if (json_object_size(set))
		json_put(body, "set", json_incref(set));
	if (json_array_size(unset))
		json_put(body, "unset", json_incref(unset));
	return body;
}

static void label_fold(json_t *labels, const struct event *ev)
{
	struct err none = ERR_INIT;
	size_t i;
	const char *key;
	json_t *name, *value;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
	json_array_foreach(json_object_get(body, "unset"), i, name)
		json_object_del(labels, json_string_value(name));
	json_object_foreach(json_object_get(body, "set"), key, value)
	{
		/* a third-party recording may hold anything */
		if (label_name_good(key, strlen(key)) && json_is_string(value) &&
		    label_value_good(json_string_value(value)))
			json_object_set(labels, key, value);
	}
}

static int labels_read(struct session *s, const struct filter *f, json_t *labels, struct err *err)
{
	struct arena arena = ARENA_INIT;
	uint64_t seqs[LABEL_PAGE], at = 0;
	size_t nr = LABEL_PAGE;
	int rc = 0;
	while (rc == 0 && nr == LABEL_PAGE) {
		rc = filter_search(f, s, clock_wall_us(), at, LABEL_PAGE, seqs, &nr, err);
		for (size_t i = 0; rc == 0 && i < nr; i++) {
			struct event ev;
			rc = session_event(s, at = seqs[i], &ev, &arena, err);
			if (rc == 0)
				label_fold(labels, &ev);
			arena_reset(&arena);
		}
	}
	arena_release(&arena);
	return rc;
}

json_t *session_labels(struct session *s, struct err *err)
{
	struct filter *f = NULL;
	json_t *labels = json_object();
	if (filter_parse(&f, "kind:session.labeled", NULL, NULL, err) < 0 ||
	    labels_read(s, f, labels, err) < 0) {
		json_decref(labels);
		labels = NULL;
	}
	filter_free(&f);
	return labels;
}

/* The end of the name in @wish. */
static size_t label_wish_name(const char *wish)
{
	size_t len = strcspn(wish, "=");
	return len && wish[len] && wish[len - 1] == '!' ? len - 1 : len;
}

int labels_wish_check(const char *wish, struct err *err)
{
	bool lacks = *wish == '!';
	const char *name = wish + lacks;
	size_t len = label_wish_name(name);
	if (label_name_good(name, len) && !(lacks && name[len]))
		return 0;
	return err_set(err, ERR_USAGE,
		       "--label '%s': expected NAME, NAME=VALUE, NAME!=VALUE, or !NAME", wish);
}

bool labels_match(const json_t *labels, const char *wish)
{
	bool lacks = *wish == '!';
	const char *name = wish + lacks;
	size_t len = label_wish_name(name);
	CLEANUP(free_ptr) char *key = mem_strndup(name, len);
	const char *value = json_str(labels, key, NULL);
	if (!name[len])
		return lacks ? !value : value != NULL;
	bool differs = name[len] == '!', same = value && !strcmp(value, name + len + 1 + differs);
	return differs ? !same : same;
}
