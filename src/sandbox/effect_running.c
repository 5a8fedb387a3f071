/* Input for a running command: bytes, signals, the size of its terminal. */
#include <signal.h>

#include "sandbox/effect.h"
#include "sandbox/long_command.h"
#include "sandbox/effect_dial.h"
#include "sandbox/effect_priv.h"

static struct job *job_of(struct boxes *b, uint64_t id, struct err *err)
{
	for (size_t i = 0; i < b->nr; i++)
		for (struct job *j = b->item[i]->jobs; j; j = j->next)
			if (action_id(j->action) == id &&
			    action_state(j->action) == ACTION_RUNNING && !j->look)
				return j;
	err_set(err, ERR_NOENT, "action #%llu is not running", (unsigned long long)id);
	return NULL;
}

int boxes_stdin_room(struct boxes *b, uint64_t id, struct err *err)
{
	const struct dialled *d = dial_find(b, id);
	return d ? dial_room(d, err) : 0;
}

int boxes_stdin(struct boxes *b, uint64_t id, const void *bytes, size_t len, bool eof,
		struct err *err)
{
	struct dialled *d = dial_find(b, id);
	struct job *j = d ? NULL : job_of(b, id, err);
	if (d)
		dial_send(d, bytes, len, eof);
	if (!j)
		return d ? 0 : -1;
	if (!j->waits) {
		j->slot->driver->run_stdin(j->run, bytes, len, eof);
		return 0;
	}
	buf_append(&j->early, bytes, len);
	j->early_eof |= eof;
	return 0;
}

size_t boxes_stdin_queued(struct boxes *b, uint64_t id)
{
	struct err err = ERR_INIT;
	struct job *j = dial_find(b, id) ? NULL : job_of(b, id, &err);
	if (j && j->waits)
		return j->early.len;
	return j && j->slot->driver->run_stdin_queued ? j->slot->driver->run_stdin_queued(j->run)
						      : 0;
}

bool boxes_stdin_hidden(struct boxes *b, uint64_t id)
{
	struct err err = ERR_INIT;
	struct job *j = dial_find(b, id) ? NULL : job_of(b, id, &err);
	if (!j || !j->run || j->waits)
		return false;
	const struct driver *d = j->slot->driver;
	const struct action_spec *spec = action_spec(j->action);
	enum run_echo echo = d->run_echo ? d->run_echo(j->run) : ECHO_UNKNOWN;
	if (echo != ECHO_UNKNOWN)
		return echo == ECHO_OFF;
	return (spec->kind == ACT_SHELL || json_flag(spec->args, "pty", false)) &&
	       prompt_secret(&j->prompt);
}

int boxes_signal(struct boxes *b, uint64_t id, int signo, struct err *err)
{
	struct dialled *d = dial_find(b, id);
	struct job *j = d ? NULL : job_of(b, id, err);
	if (d)
		dial_close(d);
	if (!j)
		return d ? 0 : -1;
	if (signo == SIGTERM || signo == SIGKILL || signo == SIGINT || signo == SIGHUP ||
	    signo == SIGQUIT)
		j->stopped = signo;
	effect_tell(j, signo);
	return 0;
}

void boxes_hold_output(struct boxes *b, uint64_t id, bool held)
{
	struct err none = ERR_INIT;
	struct dialled *d = dial_find(b, id);
	struct job *j = d ? NULL : job_of(b, id, &none);
	if (d)
		dial_hold(d, held);
	if (j && j->end == END_OK)
		hold_output(j, held);
}

static struct job *job_known(struct boxes *b, uint64_t id)
{
	for (size_t i = 0; i < b->nr; i++)
		for (struct job *j = b->item[i]->jobs; j; j = j->next)
			if (action_id(j->action) == id && !j->look)
				return j;
	return NULL;
}

int boxes_resize(struct boxes *b, uint64_t id, const struct winsize *size, struct err *err)
{
	const struct action *a = gate_action(b->gate, id);
	struct job *j = job_known(b, id);
	if (!j && (!a || action_state(a) == ACTION_ENDED || action_state(a) == ACTION_RUNNING))
		return err_set(err, ERR_NOENT, "action #%llu is not running",
			       (unsigned long long)id);
	if (j && j->run)
		j->slot->driver->run_resize(j->run, size);
	else if (!j)
		wish_size(b, id, size);
	return 0;
}

bool boxes_echoes(struct boxes *b, uint64_t id)
{
	const struct job *j = job_known(b, id);
	return j && j->run && j->slot->driver->run_echoes && j->slot->driver->run_echoes(j->run);
}
