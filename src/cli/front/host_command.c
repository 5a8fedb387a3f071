#include "cli/front/host_command.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/client.h"
#include "control/socket.h"
#include "ui/term/foreground.h"

enum { NOTE_MS = 10000 };

/* Returns the event's number, 0 with @err. */
static uint64_t host_command_note(struct control_client *c, const char *cmd, uint64_t of,
				  int status, struct err *err)
{
	json_t *words = json_array(), *opts = json_object(), *result;
	json_array_append_new(words, json_string("host_command"));
	json_array_append_new(words, json_bytes_z(cmd));
	if (of) {
		CLEANUP(free_ptr)
		char *n = mem_printf("%llu", (unsigned long long)of),
		     *code = mem_printf("%d", status);
		json_put_str(opts, "of", n);
		json_put_str(opts, "status", code);
	}
	if (control_client_call(c, words, opts, NOTE_MS, &result, err) < 0)
		return 0;
	uint64_t seq = (uint64_t)json_int(result, "event", 0);
	json_decref(result);
	return seq;
}

static int host_command_run(const char *cmd, struct err *err)
{
	struct sigaction ign = { .sa_handler = SIG_IGN }, was;
	sigaction(SIGINT, &ign, &was);
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGINT, SIG_DFL);
		execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	int status = pid > 0 ? foreground_wait(pid) : 0;
	sigaction(SIGINT, &was, NULL);
	if (pid < 0 || status < 0)
		return err_sys(err, "can't start '%.100s'", cmd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int host_command(const char *session, const char *cmd, struct err *err)
{
	CLEANUP(free_ptr) char *socket = control_path(session);
	struct control_client *c;
	struct err late = ERR_INIT;
	if (control_client_open(&c, socket, NULL, NULL, NULL, err) < 0)
		return -1;
	uint64_t seq = host_command_note(c, cmd, 0, 0, err);
	int status = seq ? host_command_run(cmd, err) : -1;
	if (seq && !host_command_note(c, cmd, seq, status < 0 ? 127 : status, &late) && status >= 0)
		err_set(err, late.code, "the command ran, but its end is not recorded: %.150s",
			late.text);
	control_client_free(&c);
	return status;
}
