/* A command line as the control socket carries it. */
#include <string.h>

#include "base/mem.h"
#include "control/control_priv.h"

json_t *command_line_words(const struct command_line *l)
{
	json_t *words = json_array();
	if (l->command)
		json_array_append_new(words, json_string(l->command->name));
	for (size_t i = 0; i < l->words.nr; i++)
		json_array_append_new(words, json_bytes(l->words.item[i], l->words.len[i]));
	return words;
}

static bool line_json_repeats(const struct command *c, const char *name)
{
	const char *text = c ? c->options : "";
	struct option_row r;
	while (option_next(&text, &r))
		if (!strcmp(r.name, name))
			return r.repeats;
	return false;
}

json_t *command_line_opts(const struct command_line *l)
{
	json_t *opts = json_object();
	for (size_t i = 0; i < l->nr_options; i++) {
		const struct command_option *o = &l->option[i];
		json_t *value = o->value ? json_bytes_z(o->value) : json_true();
		if (line_json_repeats(l->command, o->name)) {
			json_t *list = json_object_get(opts, o->name);
			if (!list) {
				list = json_array();
				json_put(opts, o->name, list);
			}
			json_array_append_new(list, value);
		} else {
			json_put(opts, o->name, value);
		}
	}
	return opts;
}

static int push_option(struct strv *argv, const char *key, const json_t *value, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	CLEANUP(buf_release) struct buf word = BUF_INIT;
	bool letter = !key[1];
	if (json_is_false(value) || json_is_null(value))
		return 0;
	buf_printf(&word, "%s%s", letter ? "-" : "--", key);
	if (json_is_true(value)) {
		strv_push_bytes(argv, word.data, word.len);
		return 0;
	}
	if (json_is_integer(value))
		buf_printf(&bytes, "%lld", (long long)json_integer_value(value));
	else if (!json_get_bytes(value, &bytes) || memchr(buf_cstr(&bytes), 0, bytes.len))
		return err_set(err, ERR_USAGE, "option '%s': expected a text", key);
	if (letter) { /* two words: "-C" and an empty value must not become "-C" alone */
		strv_push_bytes(argv, word.data, word.len);
		strv_push_bytes(argv, buf_cstr(&bytes), bytes.len);
		return 0;
	}
	buf_putc(&word, '=');
	buf_append(&word, buf_cstr(&bytes), bytes.len);
	strv_push_bytes(argv, word.data, word.len);
	return 0;
}

static int push_options(struct strv *argv, const json_t *opts, struct err *err)
{
	const char *key;
	json_t *value;
	/* jansson's walk takes a pointer that is not const; nothing is changed */
	json_object_foreach((json_t *)(uintptr_t)opts, key, value)
	{
		size_t i;
		json_t *one;
		if (!*key || key[0] == '-' || strchr(key, '='))
			return err_set(err, ERR_USAGE, "invalid option name: '%s'", key);
		if (!json_is_array(value)) {
			if (push_option(argv, key, value, err) < 0)
				return -1;
			continue;
		}
		json_array_foreach(value, i,
				   one) if (push_option(argv, key, one, err) < 0) return -1;
	}
	return 0;
}

/* Name and options go through the same parser as a typed line, so that one place checks them. */
int command_line_from_json(struct command_line *out, const json_t *words, const json_t *opts,
			   struct err *err)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const json_t *name = json_array_get(words, 0);
	if (!json_is_string(name) || !*json_string_value(name))
		return err_set(err, ERR_USAGE, "missing command name");
	strv_push(&argv, json_string_value(name));
	if (argv.item[0][0] == '-')
		return err_set(err, ERR_USAGE, "invalid command: '%s'", argv.item[0]);
	if (json_is_object(opts) && push_options(&argv, opts, err) < 0)
		return -1;
	if (command_parse_loose(out, argv.item, argv.nr, err) < 0)
		return -1;
	for (size_t i = 1; i < json_array_size(words); i++) {
		if (!json_get_bytes(json_array_get(words, i), &b) || memchr(buf_cstr(&b), 0, b.len))
			return err_set(err, ERR_USAGE, "argument %zu of '%s': expected a text", i,
				       argv.item[0]);
		strv_push_bytes(&out->words, buf_cstr(&b), b.len);
	}
	return command_check_words(out, err);
}
