#include "record/read/list.h"

#include <string.h>

#include "record/read/read_priv.h"

enum { LIST_MAX = 1 << 20 };

/* The row @name as JSON: {"as"?, "keep"?, "plus"}. A list begins only with earlier rows: @before
 * goes down, so nobody's file makes a reader go round in a circle. */
static json_t *read_list_read_row(struct session *s, const struct hash *name, int64_t *before,
				  struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	int64_t row;
	if (session_message_row(s, name, &row, &text, err) < 0) {
		err_wrap(err, "a list of messages");
		return NULL;
	}
	if (row >= *before) {
		err_set(err, ERR_DAMAGED, "a list of messages starts with a later one");
		return NULL;
	}
	*before = row;
	json_t *o = json_parse(text.data, text.len, "a list of messages", err);
	if (o && json_is_array(json_object_get(o, "plus")))
		return o;
	json_decref(o);
	err_set(err, ERR_DAMAGED, "expected a list of messages");
	return NULL;
}

static bool read_list_name_of(const json_t *v, struct hash *out)
{
	return json_is_string(v) &&
	       hex_parse(json_string_value(v), json_string_length(v), out->b, HASH_LEN);
}

/* @list as it stands so far, then one row more. */
static int read_list_extend(json_t *list, const json_t *row, struct err *err)
{
	const json_t *keep = json_object_get(row, "keep"), *plus = json_object_get(row, "plus");
	size_t nr = json_array_size(list);
	if (keep) {
		json_int_t n = json_is_integer(keep) ? json_integer_value(keep) : -1;
		if (n < 0 || (size_t)n > nr)
			return err_set(err, ERR_DAMAGED,
				       "a list of messages keeps more messages than exist");
		while (nr > (size_t)n)
			json_array_remove(list, --nr);
	}
	if (nr + json_array_size(plus) > LIST_MAX)
		return err_set(err, ERR_DAMAGED, "a list of more than %d messages", LIST_MAX);
	json_array_extend(list, (json_t *)(uintptr_t)plus);
	return 0;
}

/* The rows that make the list, the last one first, back to the first or to the list that was read
 * before. */
static int read_list_gather(struct session *s, struct hash name, json_t *rows, json_t **begin,
			    struct err *err)
{
	int64_t before = INT64_MAX;
	for (;;) {
		if (s->list && hash_eq(&name, &s->list_name)) {
			*begin = json_copy(s->list);
			return 0;
		}
		json_t *row = read_list_read_row(s, &name, &before, err);
		if (!row)
			return -1;
		json_array_append_new(rows, row);
		const json_t *as = json_object_get(row, "as");
		if (!as) {
			*begin = json_array();
			return 0;
		}
		if (!read_list_name_of(as, &name))
			return err_set(err, ERR_DAMAGED,
				       "a list of messages starts with an invalid name");
	}
}

json_t *session_list(struct session *s, const json_t *value, struct err *err)
{
	struct hash name;
	if (json_is_array(value))
		return json_incref((json_t *)(uintptr_t)value);
	if (!read_list_name_of(value, &name)) {
		err_set(err, ERR_DAMAGED, "expected a list of messages or its name");
		return NULL;
	}
	CLEANUP(json_release) json_t *rows = json_array(), *list = NULL;
	if (read_list_gather(s, name, rows, &list, err) < 0)
		return NULL;
	for (size_t i = json_array_size(rows); i-- > 0;)
		if (read_list_extend(list, json_array_get(rows, i), err) < 0)
			return NULL;
	json_decref(s->list);
	s->list = json_incref(list);
	s->list_name = name;
	return json_incref(list);
}
