#include "check/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"

static const char *const report_words[] = { "ok", "failed", "warn", "skipped" };

void report_release(struct report *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		struct report_item *it = &r->item[i];
		free(it->group);
		free(it->name);
		free(it->text);
		free(it->at);
		free(it->seq);
	}
	free(r->item);
	free(r->session);
	*r = (struct report){ 0 };
}

struct report_item *report_add(struct report *r, const char *group, enum report_result result,
			       const char *name, const char *text, const char *at,
			       const uint64_t *seq, size_t nr_seq)
{
	GROW(r->item, r->nr, r->cap);
	struct report_item *it = &r->item[r->nr++];
	*it = (struct report_item){ .group = mem_strdup(group),
				    .name = mem_strdup(name),
				    .text = mem_strdup(text ? text : ""),
				    .at = at ? mem_strdup(at) : NULL,
				    .result = result,
				    .nr_seq = nr_seq };
	if (nr_seq)
		it->seq = mem_dup(seq, nr_seq * sizeof(*seq));
	return it;
}

static enum report_result report_result_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(report_words); i++)
		if (!strcmp(word, report_words[i]))
			return (enum report_result)i;
	return REPORT_FAILED; /* "error": the check itself did not come to its end */
}

void report_add_checks(struct report *r, const char *group, const json_t *results)
{
	json_t *v, *e;
	size_t i, k;
	json_array_foreach(results, i, v)
	{
		uint64_t seq[20];
		size_t nr = 0;
		json_array_foreach(json_object_get(v, "evidence"), k, e) if (nr < ARRAY_LEN(seq))
			seq[nr++] = (uint64_t)json_integer_value(e);
		report_add(r, group, report_result_of(json_str(v, "result", "error")),
			   json_str(v, "name", "?"), json_str(v, "text", NULL),
			   json_str(v, "at", NULL), seq, nr);
	}
}

static void report_put_safe(struct buf *out, const char *text)
{
	cmd_safe(out, text, strlen(text), false);
}

static void put_seqs(const struct report_item *i, struct buf *out)
{
	for (size_t k = 0; k < i->nr_seq && k < 5; k++)
		buf_printf(out, "%s#%llu", k ? " " : "", (unsigned long long)i->seq[k]);
	if (i->nr_seq > 5)
		buf_printf(out, " and %zu more", i->nr_seq - 5);
}

void report_line(const struct report_item *i, struct buf *out)
{
	static const char *const mark[] = { "ok", "FAIL", "warn", "skip" };
	buf_printf(out, "  %-4s  %-11s ", mark[i->result], i->group);
	report_put_safe(out, i->name);
	if (*i->text) {
		buf_puts(out, *i->name ? ": " : "");
		report_put_safe(out, i->text);
	}
	if (i->nr_seq) {
		buf_puts(out, "  (");
		put_seqs(i, out);
		buf_putc(out, ')');
	}
	if (i->at && i->result == REPORT_FAILED) {
		buf_puts(out, "  ");
		report_put_safe(out, i->at);
	}
}

json_t *report_json(const struct report_item *i)
{
	json_t *o = json_object(), *list = json_array();
	json_put_str(o, "group", i->group);
	json_put_str(o, "check", i->name);
	json_put_str(o, "result", report_words[i->result]);
	json_put_str(o, "text", i->text);
	json_put_str(o, "at", i->at);
	for (size_t k = 0; k < i->nr_seq; k++)
		json_array_append_new(list, json_integer((json_int_t)i->seq[k]));
	if (i->nr_seq)
		json_put_int(o, "seq", (int64_t)i->seq[0]);
	json_put(o, "evidence", list);
	return o;
}

/* --- JUnit ------------------------------------------------------------------------------------ */

static void report_xml(struct buf *out, const char *text)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	report_put_safe(&safe, text);
	for (const char *s = buf_cstr(&safe); *s; s++)
		switch (*s) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, *s);
		}
}

static size_t report_count(const struct report *r, enum report_result result)
{
	size_t n = 0;
	for (size_t i = 0; i < r->nr; i++)
		n += r->item[i].result == result;
	return n;
}

/* Text and evidence in one: formats that have no place of their own for events. */
static char *full_text(const struct report_item *i)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, i->text);
	if (i->nr_seq) {
		buf_puts(&b, b.len ? "; events " : "events ");
		put_seqs(i, &b);
	}
	return buf_take(&b);
}

void report_junit(const struct report *r, struct buf *out)
{
	buf_printf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"sandglass verify %s\" "
		"tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
		r->session, r->nr, report_count(r, REPORT_FAILED), report_count(r, REPORT_SKIPPED));
	for (size_t i = 0; i < r->nr; i++) {
		const struct report_item *it = &r->item[i];
		static const char *const open[] = { "<system-out>", "<failure message=\"",
						    "<system-out>warning: ",
						    "<skipped message=\"" };
		bool inner = it->result == REPORT_OK || it->result == REPORT_WARN;
		CLEANUP(free_ptr) char *text = full_text(it);
		buf_puts(out, "    <testcase classname=\"");
		report_xml(out, it->group);
		buf_puts(out, "\" name=\"");
		report_xml(out, it->name);
		buf_printf(out, "\">%s", open[it->result]);
		report_xml(out, text);
		buf_puts(out, inner ? "</system-out></testcase>\n" : "\"/></testcase>\n");
	}
	buf_puts(out, "  </testsuite>\n</testsuites>\n");
}

/* --- TAP -------------------------------------------------------------------------------------- */

void report_tap_name(struct buf *out, const char *name)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	report_put_safe(&safe, name);
	for (const char *c = buf_cstr(&safe); *c; c++) /* a # would begin a directive */
		buf_printf(out, "%s%c", *c == '#' || *c == '\\' ? "\\" : "", *c);
}

void report_tap(const struct report *r, struct buf *out)
{
	buf_printf(out, "TAP version 14\n1..%zu\n", r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		const struct report_item *it = &r->item[i];
		CLEANUP(free_ptr) char *text = full_text(it);
		buf_printf(out, "%sok %zu - ", it->result == REPORT_FAILED ? "not " : "", i + 1);
		report_tap_name(out, it->group);
		buf_puts(out, ": ");
		report_tap_name(out, it->name);
		buf_puts(out, it->result == REPORT_SKIPPED ? " # SKIP " : "\n");
		if (it->result == REPORT_SKIPPED) {
			report_put_safe(out, text);
			buf_putc(out, '\n');
		} else if (*text) {
			buf_printf(out, "# %s", it->result == REPORT_WARN ? "warning: " : "");
			report_put_safe(out, text);
			buf_putc(out, '\n');
		}
	}
}

/* --- SARIF ------------------------------------------------------------------------------------ */

static json_t *report_message(const char *text)
{
	json_t *o = json_object();
	json_put_str(o, "text", *text ? text : "-");
	return o;
}

/* The events that show it, each as "s-7k2m9q#405": what show, out and replay take. */
static json_t *report_logical(const struct report *r, const struct report_item *it)
{
	json_t *list = json_array();
	for (size_t i = 0; i < it->nr_seq; i++) {
		json_t *o = json_object();
		CLEANUP(free_ptr)
		char *name = mem_printf("%s#%llu", r->session, (unsigned long long)it->seq[i]);
		json_put_str(o, "fullyQualifiedName", name);
		json_put_str(o, "kind", "event");
		json_array_append_new(list, o);
	}
	return list;
}

/* "checks/release.lua:12" */
static json_t *physical_of(const char *at)
{
	json_t *physical = json_object(), *file = json_object();
	const char *colon = strrchr(at, ':');
	json_put(file, "uri", json_stringn(at, colon ? (size_t)(colon - at) : strlen(at)));
	json_put(physical, "artifactLocation", file);
	if (colon && atoi(colon + 1) > 0) {
		json_t *region = json_object();
		json_put_int(region, "startLine", atoi(colon + 1));
		json_put(physical, "region", region);
	}
	return physical;
}

/* The place of the check, and the events; an item without either has no location. */
static json_t *report_locations(const struct report *r, const struct report_item *it)
{
	if (!it->at && !it->nr_seq)
		return NULL;
	json_t *list = json_array(), *loc = json_object();
	if (it->at)
		json_put(loc, "physicalLocation", physical_of(it->at));
	if (it->nr_seq)
		json_put(loc, "logicalLocations", report_logical(r, it));
	json_array_append_new(list, loc);
	return list;
}

static json_t *sarif_result(const struct report *r, const struct report_item *it, json_t *rules)
{
	static const char *const level[] = { "none", "error", "warning", "none" }, *const kind[] = {
		"pass", "fail", "fail", "notApplicable"
	};
	json_t *o = json_object(), *rule = json_object(), *prop = report_json(it);
	CLEANUP(free_ptr)
	char *id = mem_printf("%s/%s", it->group, it->name), *text = full_text(it);
	json_put_str(rule, "id", id);
	json_put(rule, "shortDescription", report_message(it->name));
	json_put_str(o, "ruleId", id);
	json_put_int(o, "ruleIndex", (int64_t)json_array_size(rules));
	json_array_append_new(rules, rule);
	json_put_str(o, "kind", kind[it->result]);
	json_put_str(o, "level", level[it->result]);
	json_put(o, "message", report_message(text));
	json_t *where = report_locations(r, it);
	if (where)
		json_put(o, "locations", where);
	json_put_str(prop, "session", r->session);
	json_put(o, "properties", prop);
	return o;
}

void report_sarif(const struct report *r, struct buf *out)
{
	CLEANUP(json_release) json_t *doc = json_object();
	json_t *run = json_object(), *tool = json_object(), *driver = json_object(),
	       *rules = json_array(), *results = json_array(), *runs = json_array();
	for (size_t i = 0; i < r->nr; i++)
		json_array_append_new(results, sarif_result(r, &r->item[i], rules));
	json_put_str(driver, "name", "sandglass");
	json_put_str(driver, "version", SANDGLASS_VERSION);
	json_put(driver, "rules", rules);
	json_put(tool, "driver", driver);
	json_put(run, "tool", tool);
	json_put(run, "results", results);
	json_array_append_new(runs, run);
	json_put_str(doc, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_put_str(doc, "version", "2.1.0");
	json_put(doc, "runs", runs);
	json_dump_buf(doc, out);
	buf_putc(out, '\n');
}
