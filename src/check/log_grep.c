/* A regular expression over all recorded output, in windows that overlap: no action's output is
 * held whole. */
#include <regex.h>

#include "check/log_ops.h"
#include "base/mem.h"
#include "query/sql.h"

#include <stdlib.h>

enum { WINDOW = 1 << 20, OVERLAP = 4096 };

static int stream_has(struct session *s, uint64_t action, int stream, const regex_t *re,
		      struct err *err)
{
	uint64_t size = session_output_size(s, action, stream);
	for (uint64_t off = 0; off < size; off += WINDOW - OVERLAP) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (session_output(s, action, stream, off, WINDOW, &b, err) < 0)
			return -1;
		regmatch_t m = { .rm_so = 0, .rm_eo = (regoff_t)b.len };
		if (b.len && regexec(re, b.data, 1, &m, REG_STARTEND) == 0)
			return 1;
	}
	return 0;
}

static int log_grep_each(struct session *s, const regex_t *re, const struct sql_table *t,
			 json_t *ids, struct err *err)
{
	for (size_t i = 0; i < t->rows; i++) {
		uint64_t action = strtoull(t->cell[i], NULL, 10);
		int rc = 0;
		for (int stream = 1; rc == 0 && stream <= 3; stream++)
			rc = stream_has(s, action, stream, re, err);
		if (rc < 0)
			return -1;
		if (rc)
			json_array_append_new(ids, json_integer((json_int_t)action));
	}
	return 0;
}

int log_grep(struct session *s, const char *regex, json_t *ids, struct err *err)
{
	regex_t re;
	struct sql_table t;
	if (regcomp(&re, regex, REG_EXTENDED) != 0)
		return err_set(err, ERR_PARSE, "'%s' is not a regular expression", regex);
	int rc = sql_own(s, "SELECT DISTINCT action FROM segment WHERE action>0 ORDER BY action",
			 SIZE_MAX, &t, err);
	if (rc == 0) {
		rc = log_grep_each(s, &re, &t, ids, err);
		sql_table_release(&t);
	}
	regfree(&re);
	return rc;
}
