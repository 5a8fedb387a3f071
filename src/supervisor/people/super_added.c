#include "supervisor/people/super_added.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisor/core/parts.h"
#include "secrets/trust.h"
#include "base/clock.h"
#include "base/fd.h"
#include "record/record_event.h"

enum { ADDED_MAX = 1 << 20 };

struct added { /* one that waits for its commit */
	struct super *super;
	uint64_t ticket;
	struct decide d; /* strings and who are ours */
	char *name, *pattern;
	struct buf was, text;
	struct policy *policy;
	json_t *others, *went; /* what decide names */
	json_t *answer;
};

struct super_added {
	struct added *waits; /* NULL: none */
};

static struct super_added *super_added_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct super_added), NULL };
	return super_part(s, &part);
}

static void added_free(struct added *p)
{
	free((void *)(uintptr_t)p->d.message);
	free((void *)(uintptr_t)p->d.note);
	free((void *)(uintptr_t)p->d.confirm);
	json_decref(p->d.who);
	json_decref(p->others);
	json_decref(p->went);
	json_decref(p->answer);
	policy_free(&p->policy);
	buf_release(&p->was);
	buf_release(&p->text);
	free(p->name);
	free(p);
}

/* The file as it is; empty when there is none. */
static int super_added_read_file(struct buf *out, struct err *err)
{
	struct stat st;
	if (lstat(".sandglass", &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID,
			       "can't add a rule: '.sandglass' is not a directory");
	if (lstat(ADDED_FILE, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : err_sys(err, "can't read the status of '%s'", ADDED_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "can't add a rule: '%s' is not a regular file",
			       ADDED_FILE);
	if (!trusted_file(ADDED_FILE))
		return err_set(err, ERR_DENIED,
			       "'%s' is not trusted\nRead it, then run 'sandglass trust'.",
			       ADDED_FILE);
	return file_read(ADDED_FILE, out, ADDED_MAX, err);
}

static void put_moment(struct super *s, const struct decide *d, struct buf *out)
{
	CLEANUP(buf_release) struct buf when = BUF_INIT;
	clock_rfc3339(clock_wall_us(), &when);
	buf_printf(out, "%.19sZ %s, at %s#%llu", buf_cstr(&when),
		   json_str(d->who, "name", "somebody"), record_id(s->record),
		   (unsigned long long)d->action);
}

/* The new text of the file and what to say of it. */
static json_t *super_added_compose(struct super *s, const struct decide *d, enum verdict v,
				   const char *pattern, struct buf *was, struct buf *text,
				   struct err *err)
{
	CLEANUP(buf_release) struct buf rule = BUF_INIT, comment = BUF_INIT;
	int line;
	if (super_added_read_file(was, err) < 0)
		return NULL;
	json_t *o = gate_rule(s->gate, d->action, v, pattern, err);
	if (!o)
		return NULL;
	CLEANUP(free_ptr) char *name = added_name(json_object_get(o, "rule"), buf_cstr(was));
	added_text(json_object_get(o, "rule"), name, d->note, &rule);
	put_moment(s, d, &comment);
	if (added_insert(buf_cstr(was), buf_cstr(&comment), buf_cstr(&rule), text, &line, err) <
	    0) {
		json_decref(o);
		return NULL;
	}
	json_put_str(o, "name", name);
	json_put_str(o, "file", ADDED_FILE);
	json_put_int(o, "line", line);
	json_put_str(o, "text", buf_cstr(&rule));
	return o;
}

json_t *added_look(struct super *s, uint64_t action, enum verdict v, const char *pattern,
		   const char *why, struct err *err)
{
	CLEANUP(buf_release) struct buf was = BUF_INIT, text = BUF_INIT;
	const struct decide d = { .action = action, .note = why };
	return super_added_compose(s, &d, v, pattern, &was, &text, err);
}

static struct policy *policy_of(const json_t *o, const char *why, struct err *err)
{
	CLEANUP(json_release) json_t *doc = json_object();
	json_t *rule = json_copy(json_object_get(o, "rule")), *rules = json_array();
	struct policy *p;
	json_put_str(rule, "name", json_str(o, "name", ""));
	json_put_int(rule, "line", json_int(o, "line", 1));
	json_put_str(rule, "why", why && *why ? why : NULL);
	json_array_append_new(rules, rule);
	json_put_str(doc, "file", ADDED_FILE);
	json_put_flag(doc, "added", true);
	json_put(doc, "rules", rules);
	return policy_from_json(&p, doc, err) < 0 ? NULL : p;
}

/* It is in the record: now it takes effect. */
static int take_effect(struct added *p, struct err *err)
{
	CLEANUP(buf_release) struct buf now = BUF_INIT;
	struct super *s = p->super;
	if (super_added_read_file(&now, err) < 0)
		return -1;
	if (now.len != p->was.len || (now.len && memcmp(now.data, p->was.data, now.len) != 0))
		return err_set(err, ERR_BUSY, "'%s' changed meanwhile; nothing added", ADDED_FILE);
	if (dir_make(".sandglass", 0755, err) < 0 ||
	    file_write_atomic(ADDED_FILE, p->text.data, p->text.len, 0644, err) < 0)
		return err_wrap(err, "can't write the rule");
	gate_add_policy(s->gate, take(&p->policy));
	if (trust_file(ADDED_FILE, err) < 0)
		return err_wrap(err, "rule added, but not trusted in the next run");
	if (gate_decide(s->gate, &p->d, err) < 0)
		return err_wrap(err, "rule added");
	return 0;
}

static void super_added_committed(void *self)
{
	struct added *p = self;
	struct super *s = p->super;
	struct err err = ERR_INIT;
	super_added_of(s)->waits = NULL;
	if (take_effect(p, &err) == 0) {
		if (json_array_size(p->went))
			json_put(p->answer, "others", json_incref(p->went));
		control_answer(s->server, p->ticket, json_incref(p->answer));
	} else {
		super_warn(s, NULL, "%s", err.text);
		control_refuse(s->server, p->ticket, &err);
	}
	super_changed(s);
	added_free(p);
}

static uint64_t record_it(struct super *s, const struct decide *d, const json_t *o,
			  const char *pattern)
{
	const json_t *rule = json_object_get(o, "rule");
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	size_t nr;
	struct ev_text *lifts = ev_texts_from(&mem, json_object_get(rule, "lifts"), &nr);
	return record_ev_policy_added(
		s->record, &(struct event){ .cause = d->action, .action = d->action },
		&(struct ev_policy_added){ .file = ev_text_of(ADDED_FILE),
					   EV_SET(line, json_int(o, "line", 0)),
					   .name = ev_text_of(json_str(o, "name", "")),
					   .verdict = ev_text_of(json_str(rule, "verdict", "")),
					   .kind = ev_text_of(json_str(rule, "kind", "")),
					   .pattern = ev_text_of(pattern),
					   .lifts = { nr, lifts },
					   .text = ev_text_of(json_str(o, "text", "")),
					   .note = ev_text_of(d->note),
					   .who = ev_who_from(&mem, d->who) });
}

static char *super_added_copy_of(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

int added_begin(struct super *s, uint64_t ticket, const struct decide *d, enum verdict v,
		const char *pattern, struct err *err)
{
	struct buf was = BUF_INIT, text = BUF_INIT;
	struct policy *policy = NULL;
	json_t *o = NULL;
	if (super_added_of(s)->waits)
		return err_set(err, ERR_BUSY, "another rule is being added\nTry again.");
	if (gate_may_decide(s->gate, d, err) < 0)
		return -1;
	o = super_added_compose(s, d, v, pattern, &was, &text, err);
	if (o && strcmp(json_str(o, "then", ""), verdict_name(v)) != 0)
		err_set(err, ERR_INVALID, "this rule would not %s action %llu: %s by %s",
			verdict_name(v), (unsigned long long)d->action, json_str(o, "then", ""),
			json_str(o, "by", ""));
	else if (o)
		policy = policy_of(o, d->note, err);
	if (!policy) {
		json_decref(o);
		buf_release(&was);
		buf_release(&text);
		return -1;
	}
	struct added *p = NEW(struct added);
	*p = (struct added){
		.super = s, .ticket = ticket, .d = *d, .was = was, .text = text, .policy = policy
	};
	p->name = mem_strdup(json_str(o, "name", ""));
	p->d.rule = p->name;
	p->d.message = super_added_copy_of(d->message);
	p->d.note = super_added_copy_of(d->note);
	p->d.confirm = super_added_copy_of(d->confirm);
	p->d.who = json_incref(d->who);
	p->others = json_copy((json_t *)(uintptr_t)d->others);
	p->went = json_array();
	p->d.others = p->others;
	p->d.others_done = p->went;
	p->answer = json_object();
	json_put_str(p->answer, "decision", v == VERDICT_DENY ? "denied" : "approved");
	json_put_str(p->answer, "rule", p->name);
	json_put_str(p->answer, "file", ADDED_FILE);
	json_put_int(p->answer, "line", json_int(o, "line", 0));
	CLEANUP(free_ptr)
	char *line = mem_printf("%s:%lld: %s", ADDED_FILE, (long long)json_int(o, "line", 0),
				json_str(o, "text", ""));
	json_put_str(p->answer, "text", line);
	super_added_of(s)->waits = p;
	record_barrier(s->record, record_it(s, d, o, pattern), super_added_committed, p);
	json_decref(o);
	return 0;
}

void added_drop(struct super *s)
{
	struct added *p = take(&super_added_of(s)->waits);
	if (!p)
		return;
	record_barrier_forget(s->record, p);
	added_free(p);
}

/* "406,407": the held actions that were named as going with a pattern or a rule. "none" is none. */
int added_others(const char *list, json_t *out, struct err *err)
{
	const char *p = list;
	while (strcmp(list, "none") != 0 && *p) {
		char *end;
		uint64_t id = strtoull(p += *p == '#', &end, 10);
		if (end == p || !id || (*end && *end != ','))
			return err_set(
				err, ERR_USAGE,
				"--others: expected numbers such as 406,407, or none, got '%s'",
				list);
		json_array_append_new(out, json_integer((json_int_t)id));
		p = *end ? end + 1 : end;
	}
	return 0;
}
