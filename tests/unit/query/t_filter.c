#include "tap.h"

#include "base/mem.h"
#include "query/filter.h"
#include "query/rows.h"

static const int64_t NOW = INT64_C(1795000000000000);

static bool match(const char *text, const char *row)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	if (filter_parse(&f, text, &saved, NULL, &err) < 0) {
		printf("# %s: %s\n", text, err.text);
		return false;
	}
	json_t *j = json_parse(row, strlen(row), "row", &err);
	bool is = filter_match(f, j, NOW);
	json_decref(j);
	filter_free(&f);
	return is;
}

static const struct {
	const char *filter, *row;
	bool want;
} cases[] = {
	{ "", "{}", true },
	{ "kind:exec", "{\"kind\":\"exec\"}", true },
	{ "kind:exec", "{\"kind\":\"read\"}", false },
	{ "kind:exec", "{}", false },
	{ "kind:exec,read", "{\"kind\":\"read\"}", true },
	{ "kind!=exec,read", "{\"kind\":\"read\"}", false },
	{ "kind!=exec,read", "{\"kind\":\"edit\"}", true },
	{ "kind!=exec", "{}", true },
	{ "not tool:browser", "{}", true },
	{ "!tool:browser", "{\"tool\":\"browser\"}", false },
	{ "tool:Shell", "{\"tool\":\"shell\"}", true },
	{ "tool=Shell", "{\"tool\":\"shell\"}", false },
	{ "tool:sh*", "{\"tool\":\"shell\"}", true },
	{ "tool:\"sh*\"", "{\"tool\":\"shell\"}", true },
	{ "tool=\"sh*\"", "{\"tool\":\"shell\"}", false },
	{ "tool:s?ell", "{\"tool\":\"shell\"}", true },
	{ "path:src/*.c", "{\"path\":\"/workspace/src/lex.c\"}", true },
	{ "path:src/*.c", "{\"path\":\"src/lex.c\"}", true },
	{ "path:src/*.c", "{\"path\":\"/etc/src/lex.c\"}", false },
	{ "path:/workspace/*", "{\"path\":\"/workspace/src/lex.c\"}", true },
	{ "cmd~\"\\bcurl\\b|\\bwget\\b\"", "{\"cmd\":\"cd x && wget http://e\"}", true },
	{ "cmd~\"\\bcurl\\b|\\bwget\\b\"", "{\"cmd\":\"curly\"}", false },
	{ "cmd~^v\\d+$", "{\"cmd\":\"v12\"}", true },
	{ "cmd~^v[\\d.]+$", "{\"cmd\":\"v1.2\"}", true },
	{ "rm -rf", "{\"cmd\":\"rm -rf build\"}", true },
	{ "rm -rf", "{\"cmd\":\"rm build\"}", false },
	{ "rm", "{\"cmd\":\"format\"}", false },
	{ "form*", "{\"cmd\":\"format\"}", true },
	{ "\"permission denied\"", "{\"text\":\"x: Permission denied\"}", true },
	{ "agent:2", "{\"agent\":\"fix\",\"agent_id\":2}", true },
	{ "agent:fix", "{\"agent\":\"fix\",\"agent_id\":2}", true },
	{ "box!=b9", "{\"box\":\"b9\",\"box_id\":4}", false },
	{ "dur>30s", "{\"dur_us\":31000000}", true },
	{ "dur>30s", "{\"dur_us\":30000000}", false },
	{ "dur>30s", "{}", false },
	{ "not dur>30s", "{}", true },
	{ "dur<=500ms", "{\"dur_us\":500000}", true },
	{ "dur:1m..2m", "{\"dur_us\":90000000}", true },
	{ "dur>1.5", "{\"dur_us\":1500001}", true },
	{ "cost>$0.10", "{\"cost_uusd\":100001}", true },
	{ "cost>0.10", "{\"cost_uusd\":100000}", false },
	{ "tokens>=2k", "{\"tokens\":2000}", true },
	{ "tokens<1M", "{\"tokens\":1000000}", false },
	{ "id:2..4", "{\"id\":4}", true },
	{ "id:2..4", "{\"id\":5}", false },
	{ "id:2..", "{\"id\":5}", true },
	{ "id:..4", "{\"id\":5}", false },
	{ "id:1,5,9", "{\"id\":5}", true },
	{ "exit:-1", "{\"exit\":-1}", true },
	{ "exit!=0", "{\"exit\":2}", true },
	{ "rule:net.*", "{\"rule\":[\"a\",\"net.egress\"]}", true },
	{ "rule:net.*", "{\"rule\":[]}", false },
	{ "is:pending,error", "{\"is\":[\"error\"]}", true },
	{ "has:diff", "{\"has\":[\"output\"]}", false },
	{ "since:1h", "{\"ts_us\":1794999000000000}", true },
	{ "since:1h", "{\"ts_us\":1794990000000000}", false },
	{ "until:1h", "{\"ts_us\":1794990000000000}", true },
	{ "since:2026-11-18", "{\"ts_us\":1795000000000000}", true },
	{ "since:2026-11-19T00:00:00Z", "{\"ts_us\":1795000000000000}", false },
	{ "kind:exec or kind:read tool:x", "{\"kind\":\"exec\"}", true },
	{ "(kind:exec or kind:read) tool:x", "{\"kind\":\"exec\"}", false },
	{ "kind:exec and not (tool:x or tool:y)", "{\"kind\":\"exec\",\"tool\":\"z\"}", true },
	{ "not not kind:exec", "{\"kind\":\"exec\"}", true },
	{ "id:2..4 !@noisy", "{\"id\":3,\"kind\":\"read\"}", false },
	{ "id:2..4 !@noisy", "{\"id\":3,\"kind\":\"exec\"}", true },
	{ "risk:high", "{\"risk\":\"high\"}", true },
	{ "kind:snap", "{\"kind\":\"snapshot\"}", true },
	{ "cmd:\"a\\\"b\"", "{\"cmd\":\"a\\\"b\"}", true },
	{ "cmd:*caf\303\251*", "{\"cmd\":\"le caf\303\251 noir\"}", true },
	{ "tool:x*x*x*x*x*x*x*x*y", "{\"tool\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}", false },
};

static const struct {
	const char *filter;
	size_t column;
	const char *says;
} wrong[] = {
	{ "kidn:exec", 1, "did you mean \"kind\"" },
	{ "kind:exec tol:x", 11, "did you mean \"tool\"" },
	{ "kind:exce", 6, "did you mean \"exec\"" },
	{ "is:pendign", 4, "did you mean \"pending\"" },
	{ "verdict:denied", 9, "verdict has no" },
	{ "kind:action.decided", 6, "is a step of an action" },
	{ "kind:no.such", 6, "kind has no" },
	{ "risk:hgh", 6, "high" },
	{ "zzzz:1", 1, "unknown field" },
	{ "http://example.org", 1, "quoted" },
	{ "dur>30q", 5, "a time like" },
	{ "cost>x", 6, "an amount" },
	{ "id:a..b", 4, "a number" },
	{ "since:tomorrow", 7, "a time ago" },
	{ "tool>3", 5, "can't be compared" },
	{ "is=pending", 3, "can't be compared" },
	{ "cmd~\"(\"", 5, "regular expression is wrong" },
	{ "cmd~a++", 5, "repetition of a repetition" },
	{ "cmd~(((a{9}){99}){99})", 5, "repeats too much" },
	{ "cmd~(a)\\1", 5, "back-references" },
	{ "tool:", 6, "needs a value" },
	{ "(kind:exec", 1, "bracket is not closed" },
	{ "kind:exec)", 10, "\")\" too many" },
	{ "\"abc", 1, "quote is not closed" },
	{ "kind:exec and", 14, "missing at the end" },
	{ "not", 4, "missing at the end" },
	{ "@nosuch", 1, "saved filter not found" },
	{ "@loop", 1, "without end" },
	{ "id:99999999999999999999", 4, "a number" },
};

static const char *const after[] = { "exit:1", "dur>1s", "kind:exec cost>1", "tool:x or not is:error", "(has:diff)", "by:human",
				     "text:x" };

int main(void)
{
	struct err err = ERR_INIT;
	struct filter *f = NULL;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ok(match(cases[i].filter, cases[i].row) == cases[i].want, "%s  on  %s", cases[i].filter, cases[i].row);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		size_t column = 0;
		int rc = filter_parse(&f, wrong[i].filter, &saved, &column, &err);
		ok(rc < 0 && strstr(err.text, wrong[i].says) && column == wrong[i].column, "%s: %s", wrong[i].filter, err.text);
		if (rc == 0)
			filter_free(&f);
	}
	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		ok(filter_parse(&f, after[i], NULL, NULL, &err) == 0 && filter_known_before(f, &err) < 0, "not before: %s: %s",
		   after[i], err.text);
		filter_free(&f);
	}
	ok(filter_parse(&f, "kind:exec rule:x risk:high rm", NULL, NULL, &err) == 0 && filter_known_before(f, &err) == 0,
	   "known before");
	filter_free(&f);
	ok(filter_parse(&f, "  ", NULL, NULL, &err) == 0 && filter_empty(f), "blank is empty");
	filter_free(&f);
	for (size_t i = 0; i < ARRAY_LEN(manual_rows); i++) {
		ok(filter_parse(&f, manual_rows[i], &saved, NULL, &err) == 0, "row %zu of the manual", i + 1);
		filter_free(&f);
	}
	static const struct {
		const char *filter;
		bool asks;
	} frames[] = {
		{ "wrong kind:host.frame", true }, { "a or kind:host.*", true },   { "x not kind~^host", true },
		{ "localhost.", false },	   { "kind:host x", false },	   { "host:host.frame cmd:host.frame", false },
		{ "kind:exec,read x", false },	   { "\"host.frame\"", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		ok(filter_parse(&f, frames[i].filter, NULL, NULL, &err) == 0 && filter_asks_kind(f, "host.frame") == frames[i].asks,
		   "%s %s frames", frames[i].filter, frames[i].asks ? "asks for" : "leaves out");
		filter_free(&f);
	}
	CLEANUP(buf_release) struct buf values = BUF_INIT;
	buf_puts(&values, "exit:");
	for (int i = 0; i < 2000; i++)
		buf_printf(&values, "%s%d", i ? "," : "", i % 250);
	ok(filter_parse(&f, buf_cstr(&values), NULL, NULL, &err) < 0 && strstr(err.text, "more than 500 values"), "values without end");
	char deep[4000];
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	ok(filter_parse(&f, deep, NULL, NULL, &err) < 0 && strstr(err.text, "deep"), "brackets without end");
	for (size_t i = 0; i + 1 < sizeof(deep); i++)
		deep[i] = "a "[i % 2];
	ok(filter_parse(&f, deep, NULL, NULL, &err) < 0 && strstr(err.text, "many"), "words without end");
	const char *names[] = { "exec", "read", NULL };
	is_str(nearest_name("exce", names), "exec", "nearest");
	ok(!nearest_name("zzzzzz", names), "none is near");
	static const char *const long_names[] = { "md", "asciicast-v2", "asciicast-v3", NULL };
	is_str(nearest_name("asciicast", long_names), "asciicast-v2", "only its beginning was typed");
	return done_testing();
}
