/* A script's operations on the host outside the sandboxes. Nothing here is allowed by default. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/core/call.h"
#include "supervisor/box/hostrun.h"
#include "ops/op.h"
#include "supervisor/box/super_tree.h"

static struct effector op_host_effector;

/* The session stays until what was begun on the host has ended. */
static void op_host_runs(void *self, int change)
{
	struct super *s = self;
	if (change > 0) {
		s->background++;
		return;
	}
	s->background--;
	super_maybe_finish(s);
}

static const struct effector *host_effector(struct super *s)
{
	static struct hostrun_at at;
	at = (struct hostrun_at){ s->loop, s->vault, op_host_runs, s };
	hostrun_effector(&at, &op_host_effector);
	return &op_host_effector;
}

void op_host_exec(struct call *c)
{
	struct action_spec spec = {
		.kind = ACT_HOST, .tool = "sg.host.exec", .leaves_box = true, .args = c->args
	};
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	if (!json_get_argv(json_object_get(c->args, "argv"), &spec.argv) || !spec.argv.nr) {
		strv_release(&spec.argv);
		call_fail(c, "script", NULL, NULL, 0, "host.exec needs a list of words");
		return;
	}
	op_env(json_object_get(c->args, "env"), &spec.env);
	if (json_get_bytes(json_object_get(c->args, "stdin"), &in)) {
		spec.stdin_bytes = buf_cstr(&in);
		spec.stdin_len = in.len;
	}
	spec.timeout_us = json_int(c->args, "timeout_us", 0);
	c->tool = "sg.host.exec";
	call_action(c, &spec, host_effector(c->super), NULL);
	strv_release(&spec.argv);
	strv_release(&spec.env);
}

static void op_host_push_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	output_excerpt_text(&c->out[0], &text);
	output_excerpt_text(&c->out[1], &text); /* git tells on stderr what it did */
	int64_t code = json_int(res->body, "code", 1);
	if (code != 0) {
		call_fail(c, "exit", NULL, NULL, res->id, "git push: exit status %lld: %s",
			  (long long)code, buf_cstr(&text));
		return;
	}
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	json_put_bytes(v, "text", buf_cstr(&text), text.len);
	call_answer(c, v);
}

/* A name of a remote, branch or ref that git cannot take for an option. */
static bool plain_ref(const char *s)
{
	return *s && *s != '-' && !strpbrk(s, " \t\n:?*[\\^~") && !strstr(s, "..");
}

/* The user's own git pushes what was merged back: his keys, his hooks, outside of every box. */
void op_host_push(struct call *c)
{
	uint64_t id;
	if (!call_box(c, &id))
		return;
	const char *dir = NULL, *merged = NULL;
	struct trees *t = super_box_trees(c->super, id);
	if (t)
		trees_merged(t, &dir, &merged);
	const char *ref = json_str(c->args, "ref", merged),
		   *branch = json_str(c->args, "branch", NULL);
	const char *remote = json_str(c->args, "remote", "origin");
	if (!dir) {
		call_fail(c, "script", NULL, NULL, 0,
			  "this sandbox has no repository to push from");
		return;
	}
	if (!ref) {
		call_fail(
			c, "script", NULL, NULL, 0,
			"nothing was merged yet: box:merge{ mode = \"branch\" } creates the branch to push");
		return;
	}
	if (!branch)
		branch = !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
	if (!plain_ref(ref) || !plain_ref(branch) || !plain_ref(remote)) {
		call_fail(c, "script", NULL, NULL, 0, "'%s %s:%s' is not something git could push",
			  remote, ref, branch);
		return;
	}
	CLEANUP(json_release) json_t *args = json_object();
	CLEANUP(free_ptr)
	char *what = mem_printf("%s%s:%s%s", json_flag(c->args, "force", false) ? "+" : "", ref,
				strncmp(branch, "refs/", 5) ? "refs/heads/" : "", branch);
	json_put_str(args, "cwd", dir);
	struct action_spec spec = { .kind = ACT_HOST,
				    .tool = "sg.host.push",
				    .leaves_box = true,
				    .args = args,
				    .box = id,
				    .parallel = true };
	const char *words[] = { "git", "push", remote, what };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		strv_push(&spec.argv, words[i]);
	c->tool = "sg.host.push"; /* the built-in rule goes by this name */
	call_action(c, &spec, host_effector(c->super), op_host_push_done);
	strv_release(&spec.argv);
}
