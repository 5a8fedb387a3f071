/* Clients' requests: commands that pass the table become tickets of the owner's; the others are
 * refused and recorded. */
#include <string.h>

#include "base/mem.h"
#include "control/server_priv.h"
#include "wire/event.h"

/* open commands of one client, which may serve some hundred programs (src/serve) */
enum { TICKETS_MAX = 4096 };
enum { REFUSED_WORDS = 16, REFUSED_BYTES = 200 };

/* A refused command may be anything: the recording keeps enough of it to recognize it. Returns
 * owned. */
static json_t *refused_words(const json_t *words)
{
	json_t *kept = json_array();
	const json_t *first = json_array_get(words, 0);
	const struct command *command =
		json_is_string(first) ? command_find(json_string_value(first)) : NULL;
	for (size_t i = 0; i < json_array_size(words); i++) {
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		if (i == REFUSED_WORDS) {
			json_array_append_new(kept,
					      json_sprintf("(%zu words)", json_array_size(words)));
			break;
		}
		size_t len = json_get_bytes(json_array_get(words, i), &word) ? word.len : 0;
		if (len > REFUSED_BYTES || (i && command && command->flags & COMMAND_CARRIES))
			json_array_append_new(kept, json_sprintf("(%zu bytes)", len));
		else
			json_array_append_new(kept, json_bytes(buf_cstr(&word), len));
	}
	return kept;
}

static void refuse_frame(struct client *c, uint64_t frame, const json_t *words,
			 const struct err *err)
{
	json_t *body = json_object();
	json_put(body, "words", refused_words(words));
	json_put_str(body, "code", err_code_name(err->code));
	json_put_str(body, "text", err->text);
	server_keep(c->server, c, EV_CONTROL_REFUSED, body);
	client_send(c, CONTROL_REPLY, frame, control_reply_err(err));
}

static int server_command_check(const struct client *c, const struct command_line *l,
				struct err *err)
{
	const char *name = l->command->name;
	if (l->command->where != COMMAND_SUPERVISOR)
		return err_set(err, ERR_USAGE,
			       "'%s' can't run in a supervisor\nRun 'sandglass %s' in a shell.",
			       name, name);
	if (c->guest && !c->server->share.decide && !(l->command->flags & COMMAND_LOOKS))
		return err_set(
			err, ERR_DENIED,
			"'%s' not permitted: this session is shared with group '%s' to watch", name,
			c->server->share.group);
	if (!client_may(c, l->command))
		return err_set(
			err, ERR_DENIED,
			"'%s' not permitted: this session is shared with group '%s' to decide approvals",
			name, c->server->share.group);
	if (c->guest && command_has(l, "rule"))
		return err_set(
			err, ERR_DENIED,
			"--rule not permitted: only the owner can change the project's rules\nUse --session for a rule that lasts as long as this session.");
	if (c->watch && !(l->command->flags & COMMAND_LOOKS))
		return err_set(err, ERR_DENIED,
			       "'%s' not permitted: you are watching\nAttach without --watch.",
			       name);
	if (c->nr_tickets >= TICKETS_MAX)
		return err_set(err, ERR_BUSY, "%d commands are still running\nWait for an answer.",
			       TICKETS_MAX);
	return 0;
}

/* Bytes that a command carries are recorded where they go, cleaned of secrets; in base64 nobody
 * would find one. */
static json_t *kept_opts(const struct command_line *l)
{
	json_t *o = command_line_opts(l);
	const char *carried = command_opt(l, "base64");
	if (carried)
		json_put_int(o, "base64", (int64_t)strlen(carried));
	return o;
}

/* The words that a command carries to a script are in the script's own frame. */
static json_t *kept_words(const struct command_line *l)
{
	if (!(l->command->flags & COMMAND_CARRIES))
		return command_line_words(l);
	json_t *words = json_array();
	json_array_append_new(words, json_string(l->command->name));
	for (size_t i = 0; i < l->words.nr; i++)
		json_array_append_new(words, json_sprintf("(%zu bytes)", l->words.len[i]));
	return words;
}

void client_command(struct client *c, uint64_t frame, const json_t *body)
{
	struct control_server *s = c->server;
	struct command_line line = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	json_t *words = json_object_get(body, "words");
	if (command_line_from_json(&line, words, json_object_get(body, "opts"), &err) < 0 ||
	    server_command_check(c, &line, &err) < 0) {
		refuse_frame(c, frame, words, &err);
		command_line_release(&line);
		return;
	}
	GROW(s->ticket, s->nr_tickets, s->cap_tickets);
	s->ticket[s->nr_tickets++] =
		(struct ticket){ .id = ++s->last_ticket, .client = c->id, .frame = frame };
	c->nr_tickets++;
	struct control_request rq = {
		.ticket = s->last_ticket, .client = c->id, .line = &line, .who = json_incref(c->who)
	};
	if (!(line.command->flags & COMMAND_LOOKS)) {
		json_t *o = json_object();
		json_put(o, "words", kept_words(&line));
		json_put(o, "opts", kept_opts(&line));
		rq.cause = server_keep(s, c, EV_CONTROL_COMMAND, o);
	}
	s->ops->command(s->self, &rq);
	json_decref(rq.who);
	command_line_release(&line);
}

static struct client *take_ticket(struct control_server *s, uint64_t id, uint64_t *frame_out)
{
	for (size_t i = 0; i < s->nr_tickets; i++) {
		if (s->ticket[i].id != id)
			continue;
		uint64_t client = s->ticket[i].client;
		*frame_out = s->ticket[i].frame;
		s->ticket[i] = s->ticket[--s->nr_tickets];
		for (struct client *c = s->clients; c; c = c->next)
			if (c->id == client) {
				c->nr_tickets--;
				return c->leaving ? NULL : c;
			}
	}
	return NULL;
}

void control_answer(struct control_server *s, uint64_t ticket, json_t *result)
{
	uint64_t frame;
	struct client *c = take_ticket(s, ticket, &frame);
	if (c)
		client_send(c, CONTROL_REPLY, frame, control_reply_ok(result));
	else
		json_decref(result);
	if (c && stream_queued(c->stream) > PUSH_BEHIND)
		server_watch_clients(s);
}

void control_refuse(struct control_server *s, uint64_t ticket, const struct err *err)
{
	uint64_t frame;
	struct client *c = take_ticket(s, ticket, &frame);
	if (c)
		client_send(c, CONTROL_REPLY, frame, control_reply_err(err));
}

void client_forget_tickets(struct control_server *s, uint64_t client)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->nr_tickets; i++)
		if (s->ticket[i].client != client)
			s->ticket[kept++] = s->ticket[i];
	s->nr_tickets = kept;
}
