/* A project's content for its agents: instructions, skills. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "ops/op.h"
#include "secrets/project.h"
#include "supervisor/box/super_tree.h"

/* Says each once in a session. */
static void tell_left_out(struct super *s, const char *dir, const struct project_text *t)
{
	static struct strv told; /* one process is one session */
	CLEANUP(free_ptr) char *fix = mem_printf("read it, then: sandglass trust '%s'", dir);
	CLEANUP(free_ptr) char *key = mem_printf("%s %s", t->hash, t->full);
	for (size_t i = 0; i < told.nr; i++)
		if (!strcmp(told.item[i], key))
			return;
	strv_push(&told, key);
	if (t->why)
		super_warn(s, NULL, "'%s' was not used: %s", t->full, t->why);
	else
		super_warn(s, fix, "'%s' was not used: it %s", t->full,
			   t->trust == TRUST_CHANGED ? "has changed since it was trusted"
						     : "is not trusted");
}

static char *in_box(const char *name, const char *path)
{
	return *name ? mem_printf("%s/%s", name, path) : mem_strdup(path);
}

static json_t *file_event(const struct project_text *t, const char *path)
{
	json_t *o = json_object();
	json_put_bytes(o, "path", path, strlen(path));
	json_put_str(o, "what", t->name ? "skill" : "instructions");
	json_put_str(o, "name", t->name);
	json_put_str(o, "hash", t->hash);
	json_put_int(o, "bytes", (int64_t)t->text.len);
	return o;
}

struct found {
	json_t *files, *skills;	 /* for the script */
	json_t *used, *left_out; /* for the record */
};

static void sort_out(struct super *s, struct found *f, const char *dir, const char *name,
		     const struct project_text *t)
{
	CLEANUP(free_ptr) char *path = in_box(name, t->path);
	json_t *o = json_object();
	if (t->why || t->trust != TRUST_YES) {
		tell_left_out(s, dir, t);
		json_put_bytes(o, "path", path, strlen(path));
		json_put_str(o, "why",
			     t->why			 ? t->why
			     : t->trust == TRUST_CHANGED ? "changed since it was trusted"
							 : "not trusted");
		json_array_append_new(f->left_out, o);
		return;
	}
	json_put_bytes(o, "path", path, strlen(path));
	json_put_str(o, "hash", t->hash);
	if (t->name) {
		json_put_str(o, "name", t->name);
		json_put_str(o, "about", t->about);
	} else {
		json_put_bytes(o, "text", buf_cstr((struct buf *)(uintptr_t)&t->text), t->text.len);
	}
	json_array_append_new(t->name ? f->skills : f->files, o);
	json_array_append_new(f->used, file_event(t, path));
}

void op_instructions(struct call *c)
{
	uint64_t box;
	struct trees *t = op_trees(c, &box);
	const char *name, *dir;
	if (!t)
		return;
	struct found f = { json_array(), json_array(), json_array(), json_array() };
	for (size_t i = 0; trees_repo(t, i, &name, &dir); i++) {
		struct project p = { 0 };
		if (dir)
			project_read(&p, dir);
		for (size_t k = 0; k < p.nr; k++)
			sort_out(c->super, &f, dir, name, &p.item[k]);
		project_release(&p);
	}
	json_t *body = json_object(), *v = json_object();
	json_put(body, "files", f.used);
	json_put(body, "left_out", f.left_out);
	json_put(v, "files", f.files);
	json_put(v, "skills", f.skills);
	json_put_int(v, "event",
		     (int64_t)record_append_json(c->super->record, EV_AGENT_INSTRUCTIONS,
						 c->agent ? c->agent : c->super->start_seq,
						 c->agent, (uint64_t)json_int(c->args, "box", 0), 0,
						 body));
	call_answer(c, v);
}

static void give_skill(struct call *c, const struct project_text *t, const char *path)
{
	json_t *v = json_object();
	const char *text = skill_body(t);
	json_put_bytes(v, "text", text, strlen(text));
	json_put_bytes(v, "path", path, strlen(path));
	json_put_int(v, "event",
		     (int64_t)record_append_json(c->super->record, EV_AGENT_SKILL,
						 c->agent ? c->agent : c->super->start_seq,
						 c->agent, (uint64_t)json_int(c->args, "box", 0), 0,
						 file_event(t, path)));
	call_answer(c, v);
}

void op_skill(struct call *c)
{
	const char *want = json_str(c->args, "path", ""), *hash = json_str(c->args, "hash", ""),
		   *name, *dir;
	uint64_t box;
	struct trees *t = op_trees(c, &box);
	if (!t)
		return;
	for (size_t i = 0; trees_repo(t, i, &name, &dir); i++) {
		struct project p = { 0 };
		bool given = false;
		if (dir)
			project_read(&p, dir);
		for (size_t k = 0; k < p.nr && !given; k++) {
			const struct project_text *s = &p.item[k];
			CLEANUP(free_ptr) char *path = in_box(name, s->path);
			given = s->name && !s->why && s->trust == TRUST_YES &&
				!strcmp(path, want) && !strcmp(s->hash, hash);
			if (given)
				give_skill(c, s, path);
		}
		project_release(&p);
		if (given)
			return;
	}
	call_fail(c, "io", NULL, NULL, 0, "'%s' has changed or was removed since the agent started",
		  want);
}
