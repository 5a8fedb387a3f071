/* asciicast 2 and 3: one action of kind exec (tool terminal) with its terminal output, times
 * kept. */
#include <stdlib.h>
#include <string.h>

#include "exchange/import.h"
#include "record/record.h"

struct cast {
	int version; /* 0: the header has not come */
	double at;   /* seconds since the beginning */
	int64_t begin_us;
	int code;
};

static void import_cast_begin(struct cast *c, struct import *im, const json_t *head, size_t line,
			      size_t len)
{
	const json_t *env = json_object_get(head, "env"), *term = json_object_get(head, "term");
	int version = (int)json_int(head, "version", 0);
	if (version != 2 && version != 3) {
		import_gap(im, line, len, "the first line is not a header of asciicast 2 or 3");
		return;
	}
	c->version = version;
	int64_t s = json_int(head, "timestamp", 0);
	c->begin_us = s > 0 && s < INT64_C(8000000000) ? s * 1000000 : 0;
	import_time_us(im, c->begin_us);
	json_t *args = json_object();
	json_put(args, "command",
		 json_string(json_str(head, "command", json_str(env, "SHELL", "terminal"))));
	import_agent(im, json_str(head, "title", "terminal"), "none");
	import_call(im, "cast", "terminal", args);
	import_resize(
		im, "cast",
		(int)json_int(version == 2 ? head : term, version == 2 ? "width" : "cols", 80),
		(int)json_int(version == 2 ? head : term, version == 2 ? "height" : "rows", 24));
	json_decref(args);
}

static void import_cast_on_line(void *self, struct import *im, size_t line, const json_t *j,
				const char *text, size_t len)
{
	struct cast *c = self;
	if (!c->version) {
		import_cast_begin(c, im, j, line, len);
		return;
	}
	const json_t *time = json_array_get(j, 0), *data = json_array_get(j, 2);
	const char *code = json_string_value(json_array_get(j, 1));
	if (!json_is_number(time) || !code || !json_is_string(data)) {
		import_gap(im, line, len, "no event: [time, code, data]");
		return;
	}
	double t = json_number_value(time);
	c->at = c->version == 3 ? c->at + (t > 0 && t < 1e9 ? t : 0) : t > 0 && t < 1e9 ? t : c->at;
	import_time_us(im, c->begin_us + (int64_t)(c->at * 1e6));
	if (!strcmp(code, "o")) {
		import_output(im, "cast", STREAM_PTY, json_string_value(data),
			      json_string_length(data));
	} else if (!strcmp(code, "m")) {
		import_mark(im, json_string_value(data));
	} else if (!strcmp(code, "r")) {
		int cols = 0, rows = 0;
		if (sscanf(json_string_value(data), "%5dx%5d", &cols, &rows) == 2)
			import_resize(im, "cast", cols, rows);
	} else if (!strcmp(code, "x")) {
		c->code = atoi(json_string_value(data));
	} else {
		import_keep(im, line, code, text, len);
	}
}

int sniff_cast(const char *head, size_t len)
{
	(void)len;
	bool two = strstr(head, "\"version\": 2") || strstr(head, "\"version\":2");
	bool three = strstr(head, "\"version\": 3") || strstr(head, "\"version\":3");
	return head[0] == '{' && ((two && strstr(head, "\"width\"")) ||
				  (three && strstr(head, "\"term\"")))
		       ? 60
		       : 0;
}

int import_cast(struct import *im, FILE *in, struct err *err)
{
	struct cast c = { .code = -1 };
	int rc = import_lines(im, in, import_cast_on_line, &c, err);
	if (rc == 0 && !c.version)
		return err_set(err, ERR_PARSE, "not asciicast 2 or 3: missing header");
	if (rc == 0)
		import_result(im, "cast", "", 0, false, c.code);
	return rc;
}
