/* Users who are away: the notification command. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/core/notify_command.h"
#include "supervisor/core/core.h"
#include "base/log.h"
#include "base/text/sanitize.h"
#include "record/record_event.h"

static void child_gone(void *self, int fd, unsigned events)
{
	struct loop_fd **w = self;
	struct err err = ERR_INIT;
	int status;
	(void)events;
	if (proc_reap(fd, &status, &err) < 0)
		log_warn("%s", err.text);
	loop_fd_free(w);
	close(fd);
	free(w);
}

/* A line that answers action @id from another host: it holds only while the action is unchanged. */
static void push_answers(struct super *s, uint64_t id, struct strv *env)
{
	const struct action *a = id ? gate_action(s->gate, id) : NULL;
	char host[256] = "localhost";
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	static const char *const verbs[][2] = { { "SANDGLASS_APPROVE", "approve" },
						{ "SANDGLASS_DENY", "deny" } };
	if (!a)
		return;
	gethostname(host, sizeof(host) - 1);
	hex_append(&hex, action_intent(a)->b, HASH_LEN);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		CLEANUP(free_ptr)
		char *v =
			mem_printf("%s=ssh %s sandglass %s '%s#%llu' --intent %s", verbs[i][0],
				   s->opts->notify_host ? s->opts->notify_host : host, verbs[i][1],
				   record_id(s->record), (unsigned long long)id, buf_cstr(&hex));
		strv_push(env, v);
	}
}

/* "NAME=value" of a text that agents or scripts chose: one line, without what steers a terminal or
 * begins another line of a mail. */
static char *notify_variable(const char *name, const char *text)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &line);
	return mem_printf("%s=%s", name, buf_cstr(&line));
}

/* The command comes from the user's configuration. Its input comes in the environment, never in
 * its text. */
static void notify_about(struct super *s, uint64_t id, const char *title, const char *text)
{
	if (!s->opts->notify)
		return;
	struct strv env = STRV_INIT;
	for (char **e = environ; *e; e++)
		strv_push(&env, *e);
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	if (record_clean(s->record, text, strlen(text), &clean))
		text = buf_cstr(&clean);
	CLEANUP(free_ptr) char *v1 = notify_variable("SANDGLASS_TITLE", title);
	CLEANUP(free_ptr) char *v2 = notify_variable("SANDGLASS_TEXT", text);
	CLEANUP(free_ptr) char *v3 = mem_printf("SANDGLASS_SESSION=%s", record_id(s->record));
	strv_push(&env, v1);
	strv_push(&env, v2);
	strv_push(&env, v3);
	push_answers(s, id, &env);
	char *argv[] = { mem_strdup("sh"), mem_strdup("-c"), mem_strdup(s->opts->notify), NULL };
	int fds[3] = { -1, -1, -1 }, pid, pidfd;
	struct err err = ERR_INIT;
	struct ev_notify body = { .text = ev_text_of(text),
				  .command = ev_text_of(s->opts->notify) };
	if (proc_spawn("/bin/sh", argv, env.item, fds, 3, &pid, &pidfd, &err) < 0) {
		body.why = ev_text_of(err.text);
	} else {
		struct loop_fd **w = mem_calloc(1, sizeof(struct loop_fd *));
		*w = loop_fd_new(s->loop, pidfd, LOOP_READ, child_gone, w);
	}
	record_ev_notify(s->record, &(struct event){ .cause = s->start_seq }, &body);
	for (int i = 0; i < 3; i++)
		free(argv[i]);
	strv_release(&env);
}

void super_notify(struct super *s, const char *title, const char *text)
{
	notify_about(s, 0, title, text);
}

void super_held(struct super *s, uint64_t id, const char *text)
{
	CLEANUP(free_ptr)
	char *title = mem_printf("sandglass: #%llu is pending approval", (unsigned long long)id);
	if (!s->nr_people)
		notify_about(s, id, title, text);
	super_changed(s);
}
