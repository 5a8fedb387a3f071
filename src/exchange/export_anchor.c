/* The checkpoints of a session as lines of an anchor log (schema/README.md, rule 20): for a tag of
 * a repository, a mail, a witness. `verify --anchor FILE` holds the session against them. */
#include "exchange/export.h"
#include "query/sql.h"

enum { MANY = 1000000 };

int export_anchor(struct export *x, struct err *err)
{
	static const char lines[] =
		"SELECT '1 '||lower(hex(coalesce((SELECT o.uuid FROM origin o WHERE o.seq>=c.seq ORDER BY o.seq LIMIT 1),s.uuid)))||' '||"
		"c.seq||' '||lower(hex(c.chain))||' '||c.ts_us||' '||lower(hex(c.key))||' '||lower(hex(c.sig)) "
		"FROM checkpoint c, session s ORDER BY c.seq";
	struct sql_table t = { 0 };
	int rc = sql_select(x->s, lines, MANY, &t, err);
	for (size_t i = 0; rc == 0 && i < t.rows; i++)
		fprintf(x->out, "%s\n", t.cell[i]);
	sql_table_release(&t);
	return rc;
}
