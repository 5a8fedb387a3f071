/* sandglass-replay: looks at a session file. It links no driver, no network, no Lua and no loop, so
 * it cannot run a thing. */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text/json_stream.h"
#include "record/read/session.h"
#include "ui/console.h"
#include "ui/line.h"
#include "ui/frame/transport.h"

static const char replay_main_usage[] =
	"usage: sandglass-replay [options] FILE [FILE...]\n"
	"Several stand beside each other, each as long after its beginning as the first.\n"
	"  --at SEQ          begin at this event (default: the end)\n"
	"  --screen SEQ      print one screen as text and end (0 = the end)\n"
	"  --view NAME       fleet, agent, approval, queue, diff, log, help\n"
	"  --action SEQ      of which action (agent, approval)\n"
	"  --size COLSxROWS  of --screen (default 120x36)\n"
	"  --ascii           of --screen: ASCII only\n"
	"  --theme NAME      auto, dark, light, mono\n"
	"  --screens         print the screens after every event: live or not, they are the same\n"
	"  --follow          with --screens: continue until the session ends\n"
	"  --no-tui          one event per line; on a terminal: by commands, as --step\n"
	"  --step            move the cursor by commands from standard input (\"help\" lists them)\n"
	"  --json            with --no-tui: JSON lines\n"
	"  --speed N         with --no-tui: as it went, 0.25 to 64 times as fast\n"
	"keys: ? shows them. Nothing runs.\n";

/* The numbers are those of src/base/exit.h. */
static int replay_main_fail(const struct err *err)
{
	bool io = err->code == ERR_IO || err->code == ERR_DENIED || err->code == ERR_BUSY ||
		  err->code == ERR_FULL || err->code == ERR_TIMEOUT || err->code == ERR_CLOSED;
	fprintf(stderr, "sandglass: replay: %s\n%s%s", err->text, err->hint,
		*err->hint ? "\n" : "");
	return err->code == ERR_DAMAGED ? 9 : io ? 1 : 2;
}

struct options {
	bool screen, screens, follow, line, json, step;
	struct screen_opts s;
	struct console_opts c;
	int num, den;
	int claims; /* --claims; -1 none */
};

/* Of the first session; the descriptor is handed out once. */
static int replay_claims(void *self, const char *path)
{
	struct options *o = self;
	int fd = o->claims;
	bool first = strcmp(path, o->s.path) == 0;
	if (first)
		o->claims = -1;
	if (first && fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return first ? fd : -1;
}

static int parse_speed(struct options *o, const char *text, struct err *err)
{
	int index;
	if (!transport_speed(text, &index))
		return err_set(err, ERR_USAGE,
			       "--speed: expected 0.25, 0.5, 1, 2, 4, 8, 16, 32, or 64, got '%s'",
			       text);
	transport_ratio(index, &o->num, &o->den);
	o->line = true;
	return 0;
}

static int parse_seq(const char *option, const char *text, uint64_t *out, struct err *err)
{
	const char *digits = text + (*text == '#');
	char *end;
	*out = strtoull(digits, &end, 10);
	if (*digits < '0' || *digits > '9' || *end)
		return err_set(err, ERR_USAGE,
			       "%s: expected the number of an event, like 405, got '%s'", option,
			       text);
	return 0;
}

static int replay_main_parse(int argc, char **argv, struct options *o, struct err *err)
{
	static const struct option names[] = {
		{ "at", 1, NULL, 'a' },	     { "screen", 1, NULL, 's' },
		{ "view", 1, NULL, 'v' },    { "size", 1, NULL, 'z' },
		{ "action", 1, NULL, 'c' },  { "ascii", 0, NULL, 'A' },
		{ "theme", 1, NULL, 't' },   { "no-tui", 0, NULL, 'l' },
		{ "screens", 0, NULL, 'S' }, { "follow", 0, NULL, 'F' },
		{ "json", 0, NULL, 'j' },    { "step", 0, NULL, 'w' },
		{ "speed", 1, NULL, 'p' },   { "help", 0, NULL, 'h' },
		{ "claims", 1, NULL, 'm' },  { 0 },
	};
	for (int ch; (ch = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
		switch (ch) {
		case 'a':
			if (parse_seq("--at", optarg, &o->c.at, err) < 0)
				return -1;
			break;
		case 's':
			o->screen = true;
			if (parse_seq("--screen", optarg, &o->s.seq, err) < 0)
				return -1;
			break;
		case 'v':
			o->s.view = o->c.view = optarg;
			break;
		case 'z':
			if (sscanf(optarg, "%dx%d", &o->s.cols, &o->s.rows) != 2 || o->s.cols < 1 ||
			    o->s.rows < 1 || o->s.cols > 1000 || o->s.rows > 1000)
				return err_set(err, ERR_USAGE, "--size '%s' is not like 120x36",
					       optarg);
			break;
		case 'c':
			if (parse_seq("--action", optarg, &o->s.action, err) < 0)
				return -1;
			break;
		case 'A':
			o->s.ascii = true;
			break;
		case 't':
			o->c.theme = optarg;
			break;
		case 'S':
			o->screens = true;
			break;
		case 'F':
			o->follow = true;
			break;
		case 'l':
			o->line = true;
			break;
		case 'w':
			o->step = true;
			break;
		case 'j':
			o->line = o->json = true;
			break;
		case 'p':
			if (parse_speed(o, optarg, err) < 0)
				return -1;
			break;
		case 'm': /* a descriptor of "sandglass replay" */
			o->claims = (int)strtol(optarg, NULL, 10);
			break;
		case 'h':
			fputs(replay_main_usage, stdout);
			exit(0);
		default:
			return err_set(err, ERR_USAGE, "see --help");
		}
	}
	if (optind == argc)
		return err_set(err, ERR_USAGE, "name a session file (see --help)");
	if (argc - optind > CONSOLE_SOURCES)
		return err_set(err, ERR_USAGE, "at most %d sessions beside each other",
			       CONSOLE_SOURCES);
	o->s.path = argv[optind];
	o->s.beside = (const char *const *)argv + optind + 1;
	o->s.nr_beside = (size_t)(argc - optind - 1);
	return 0;
}

/* An event that the session doesn't have would show an empty or a false screen. */
static int check_has_event(const char *path, uint64_t seq, struct err *err)
{
	struct session *s = NULL;
	if (seq == 0)
		return 0;
	if (session_open(&s, path, err) < 0)
		return -1;
	uint64_t head = session_head(s);
	session_close(&s);
	if (seq > head)
		return err_set(err, ERR_USAGE,
			       "event %" PRIu64 " not found; the last event is %" PRIu64, seq,
			       head);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct options o = { .s = { .rows = 36, .cols = 120 },
			     .c = { .replay = true },
			     .claims = -1 };
	o.c.claims = replay_claims;
	o.c.claims_self = &o;
	log_open("sandglass-replay");
	hash_init();
	setlocale(LC_CTYPE, "");
	if (replay_main_parse(argc, argv, &o, &err) < 0)
		return replay_main_fail(&err);
	if (check_has_event(o.s.path, o.screen ? o.s.seq : o.c.at, &err) < 0)
		return replay_main_fail(&err);
	struct console_source src[CONSOLE_SOURCES];
	for (size_t i = 0; i < o.s.nr_beside + 1; i++)
		src[i] = (struct console_source){ .path = i == 0 ? o.s.path : o.s.beside[i - 1],
						  .wake_fd = -1 };
	o.c.source = src;
	o.c.nr_sources = o.s.nr_beside + 1;
	if (o.screen)
		return console_screen(&o.s, stdout, &err) < 0 ? replay_main_fail(&err) : 0;
	bool terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO),
	     words = o.screens || o.step || o.line || !terminal;
	if (words && o.s.nr_beside > 0)
		return replay_main_fail((
			err_set(&err, ERR_USAGE,
				"line mode replays one session at a time\n'sandglass compare' compares several."),
			&err));
	if (o.step && o.json)
		return replay_main_fail(
			(err_set(&err, ERR_USAGE, "--step and --json exclude each other"), &err));
	if (o.screens)
		return line_dump(o.s.path, 0, o.c.at, o.follow, stdout, &err) < 0
			       ? replay_main_fail(&err)
			       : 0;
	if (o.step || (o.line && terminal && !o.json && o.den == 0)) {
		CLEANUP(free_ptr) char *marks = paths_state("marks");
		return line_replay(o.s.path, o.c.at, marks, stdout, &err) < 0
			       ? replay_main_fail(&err)
			       : 0;
	}
	if (o.line || !terminal) {
		FILE *json = o.json ? json_stream_new(stdout) : NULL;
		struct line_opts l = { .path = o.s.path,
				       .json = o.json,
				       .out = json ? json : stdout,
				       .from = o.c.at ? o.c.at - 1 : 0,
				       .num = o.num,
				       .den = o.den,
				       .claims = o.claims };
		int rc = line_print(&l, &err);
		if (json && fclose(json) != 0 && rc == 0)
			rc = err_sys(&err, "can't write");
		return rc < 0 ? replay_main_fail(&err) : 0;
	}
	return console_main(&o.c, &err) < 0 ? replay_main_fail(&err) : 0;
}
