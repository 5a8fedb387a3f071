/* The offline commands over a small recorded session, and their errors for bad input. */
#include "cli/lib/cmd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/sessions.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/record.h"
#include "tap.h"

static char dir[] = "/tmp/sg-t-cmd-XXXXXX";
static char id[32]; /* of the session */

/* --- running one command --------------------------------------------------------------------------------------------
 */

static struct {
	int status;
	char *out, *err;
	size_t out_len, err_len;
} ran;

static void run(const char *line)
{
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	char *copy = mem_strdup(line), *save = NULL;
	free(ran.out);
	free(ran.err);
	FILE *out = open_memstream(&ran.out, &ran.out_len), *err = open_memstream(&ran.err, &ran.err_len);
	strv_push(&argv, "sandglass");
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		/* "%" stands for a blank within a word, ID for the session */
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		for (const char *s = w; *s; s++)
			if (!strncmp(s, "ID", 2)) {
				buf_puts(&b, id);
				s++;
			} else {
				buf_putc(&b, *s == '%' ? ' ' : *s);
			}
		strv_push(&argv, buf_cstr(&b));
	}
	free(copy);
	ran.status = cmd_main((int)argv.nr, argv.item, out, err);
	fclose(out);
	fclose(err);
}

/* Runs; the exit status must be @status and both texts must hold what is given (NULL: must be empty). */
static void want(const char *line, int status, const char *out, const char *err)
{
	run(line);
	bool good = ran.status == status && (out ? strstr(ran.out, out) != NULL : !*ran.out) &&
		    (err ? strstr(ran.err, err) != NULL : !*ran.err);
	ok(good, "sandglass %s", line);
	if (!good)
		printf("# status %d, wanted %d\n# out %s\n# err %s\n", ran.status, status, ran.out, ran.err);
}

/* --- a session ------------------------------------------------------------------------------------------------------
 */

static uint64_t add_in(struct record *r, uint64_t box, uint16_t kind, uint64_t agent, uint64_t action, const char *body)
{
	struct event ev = {
		.cause = 1, .agent = agent, .box = box, .action = action, .kind = kind, .body = body, .len = strlen(body)
	};
	return record_append(r, &ev);
}

static uint64_t add(struct record *r, uint16_t kind, uint64_t agent, uint64_t action, const char *body)
{
	return add_in(r, 0, kind, agent, action, body);
}

static void tree_entry(struct buf *b, const char *mode, const char *name, const struct object_id *id_of)
{
	buf_printf(b, "%s %s", mode, name);
	buf_putc(b, 0);
	buf_append(b, id_of->b, sizeof(id_of->b));
}

static void snapshot(struct record *r, uint64_t box, uint64_t action, const char *was, const char *now)
{
	struct objects *o = objects_new();
	struct object_id blob, tree;
	CLEANUP(json_release) json_t *body = json_object();
	const char *const key[] = { "under", "tree" }, *const text[] = { was, now };
	char hex[41];
	for (int i = 0; i < 2; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		objects_add(o, OBJECT_BLOB, text[i], strlen(text[i]), &blob);
		tree_entry(&b, "100644", "a.txt", &blob);
		objects_add(o, OBJECT_TREE, b.data, b.len, &tree);
		object_hex(&tree, hex);
		json_put_str(body, key[i], hex);
	}
	json_put_str(body, "repo", "");
	json_put_str(body, "why", "action");
	json_put_int(body, "n", 1);
	json_put_int(body, "changed", 1);
	json_t *by = json_array();
	json_array_append_new(by, json_integer((json_int_t)action));
	json_put(body, "by", by);
	CLEANUP(free_ptr) char *dump = json_dump_str(body);
	struct event ev = {
		.box = box, .action = action, .kind = EV_SNAPSHOT_TAKEN, .body = dump, .len = strlen(dump)
	};
	record_objects(r, o, &ev);
}

static uint64_t exec_action(struct record *r, uint64_t box, uint64_t agent, const char *cmd, int code)
{
	CLEANUP(free_ptr) char *req = mem_printf("{\"kind\":\"exec\",\"tool\":\"shell\",\"cmd\":\"%s\"}", cmd);
	CLEANUP(free_ptr) char *end = mem_printf("{\"end\":\"ok\",\"code\":%d,\"dur_us\":6100000}", code);
	uint64_t a = add_in(r, box, EV_ACTION_REQUESTED, agent, 0, req);
	add_in(r, box, EV_ACTION_JUDGED, agent, a, "{\"verdict\":\"allow\",\"rules\":[{\"name\":\"tests\"}]}");
	add_in(r, box, EV_ACTION_STARTED, agent, a, "{}");
	if (code) {
		static const char bell[] = "err\033]0;x\007\n";
		record_output(r, a, STREAM_OUT, "ok 1\nok 2\n", 10);
		record_output(r, a, STREAM_ERR, bell, sizeof(bell) - 1);
		record_output_end(r, a);
	}
	add_in(r, box, EV_ACTION_ENDED, agent, a, end);
	return a;
}

static uint64_t first, second, agent_id; /* what the session holds */

static void make_session(const char *name)
{
	struct loop *l;
	struct record *r;
	struct err err = ERR_INIT;
	json_t *start = json_object(), *end = json_object();
	json_put_str(start, "script", "fix.lua");
	if (loop_new(&l, &err) < 0 || record_create(&r, l, dir, name, start, NULL, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	json_decref(start);
	snprintf(id, sizeof(id), "%s", record_id(r));
	uint64_t agent = add(r, EV_AGENT_START, 0, 0,
			     "{\"name\":\"fix-parser\",\"task\":\"repair it\",\"model\":\"scripted:fix\"}");
	uint64_t box = add(r, EV_BOX_OPEN, 0, 0, "{\"name\":\"b1\",\"driver\":\"process\"}");
	agent_id = agent;
	first = exec_action(r, box, agent, "make test", 2);
	snapshot(r, box, first, "one\ntwo\n", "one\n2\n");
	second = exec_action(r, box, agent, "git push origin main", 0);
	snapshot(r, box, second, "one\ntwo\n", "one\n2\nthree\n");
	add(r, EV_AGENT_END, agent, 0, "{\"stop\":\"done\",\"ok\":true}");
	json_put_flag(end, "ok", true);
	ok(record_close(&r, end, &err) == 0, "a session: %s", err.text);
	loop_free(l);
}

/* --- tests ----------------------------------------------------------------------------------------------------------
 */

static void check_usage(void)
{
	want("evnts", 2, NULL, "sandglass: unknown command 'evnts'; did you mean 'events'?\n");
	want("events --folow", 2, NULL, "did you mean '--follow'?");
	want("ls --json=1", 2, NULL, "takes no value");
	want("show a b", 2, NULL, "show: unexpected argument: 'b'");
	want("version", 0, "sandglass " SANDGLASS_VERSION, NULL);
	want("--version", 0, "sandglass " SANDGLASS_VERSION "\n", NULL);
	want("help", 0, "  approve ", NULL);
	want("help events", 0, "usage: sandglass events [SESSION]\n", NULL);
	want("events -h", 0, "usage: sandglass events [SESSION]\n", NULL);
	want("help evnts", 2, NULL, "did you mean 'events'?");
	want("help filter", 0, "filter language", NULL);
	want("completion bash", 0, "complete -o default", NULL);
	want("completion tcsh", 2, NULL, "got 'tcsh'");
	want("complete -- ev", 0, "events\t", NULL);
	want("complete -- events --fo", 0, "--follow\t", NULL);
	want("complete -- show s-", 0, id, NULL);
	want("complete -- policy ", 0, "policy", NULL);
	want("config sesions", 2, NULL, "did you mean 'sessions'?");
	want("config sessions --sessions /x", 0, "/x  (option --sessions)", NULL);
	want("-C /nonexistent ls", 2, NULL, "'/nonexistent'");
	want("approve 1", 2, NULL, "no running session");
	want("pause --in s-zzz", 2, NULL, "'s-zzz' is not running");
	want("new my-agent", 2, NULL, "Give --from");
	want("new --from codign", 2, NULL, "did you mean 'coding'?");
	want("new a/b --from bare", 2, NULL, "got 'a/b'");
	want("new x --coupling both", 2, NULL, "--coupling: expected tool or inside, got 'both'");
	for (size_t i = 0; command_at(i); i++) {
		CLEANUP(free_ptr) char *line = mem_printf("help %s", command_at(i)->name);
		want(line, 0, command_at(i)->summary, NULL);
	}
}

static void check_reading(void)
{
	char line[200];
	want("ls", 0, "ended", NULL);
	want("ls fix*", 0, "  fix\n", NULL);
	want("ls nothing", 0, NULL, "no matching session");
	want("ls --live", 0, NULL, "no running session in '");
	want("ls --live nothing", 0, NULL, "no matching running session in '");
	want("ls --json", 0, "{\"schema\":1,\"session\":\"s-", NULL);
	want("ls --agents ID", 0, "agent fix-parser with scripted:fix: repair it", NULL);
	want("ls --snapshots ID", 0, "snapshot 1: files changed: 1 after action", NULL);
	want("show", 0, "2 actions (0 denied, 1 not successful, 0 held), 2 snapshots", NULL);
	want("show ID --json", 0, "\"state\":\"ended\"", NULL);
	snprintf(line, sizeof(line), "show %llu", (unsigned long long)first);
	want(line, 0, "exec: make test", NULL);
	want(line, 0, "done: exit 2 in 6.1s", NULL);
	want(line, 0, "20 B of output: sandglass out s-", NULL);
	snprintf(line, sizeof(line), "show ID#%llu --json", (unsigned long long)first);
	want(line, 0, "\"kind\":\"action.ended\"", NULL);
	want("show #99999", 2, NULL, "99999");
	want("events", 0, "fix-parser exec: make test\n", NULL);
	want("events ID --json", 0, "\"body\":{\"name\":\"fix-parser\"", NULL);
	run("events");
	size_t nr = 0;
	for (const char *s = ran.out; (s = strchr(s, '\n')); s++)
		nr++;
	run("events --last 1");
	ok(strstr(ran.out, "session ended: successful") && strchr(ran.out, '\n')[1] == 0,
	   "events --last 1 is the last of %zu", nr);
	want("events --since 99999", 0, NULL, NULL);
	want("events --since x", 2, NULL, "--since: expected an event number");
	want("events -f --last 1", 0, "session ended", NULL);
	want("events --filter kind:exec%is:error", 0, "exec: make test\n", NULL);
	run("events --filter kind:exec%is:error");
	ok(!strstr(ran.out, "git push"), "the other action does not match");
	want("events -f --filter kind:exec%is:error", 0, "exec: make test\n", NULL);
	want("events --filter kid:exec", 2, NULL, "did you mean");
	snprintf(line, sizeof(line), "out %llu", (unsigned long long)first);
	want(line, 0, "ok 1\nok 2\n", "err\033]0;x\007\n");
	snprintf(line, sizeof(line), "out ID#%llu --stderr", (unsigned long long)first);
	want(line, 0, "err\033]0;x\007\n", NULL);
	snprintf(line, sizeof(line), "out ID#%llu -f --stdout", (unsigned long long)first);
	want(line, 0, "ok 1\nok 2\n", NULL);
	snprintf(line, sizeof(line), "out %llu --json", (unsigned long long)first);
	want(line, 0, "\"stream\":\"stdout\"", NULL);
	want("out 1", 2, NULL, "#1 has no output");
	want("out ID", 2, NULL, "missing action number");
	want("search push", 0, "fix-parser args  exec: git push origin main\n", NULL);
	want("search nowhere", 1, NULL, NULL);
	want("search git%push --json", 0, "\"kind\":\"action.requested\"", NULL);
	want("search kind:exec make --in ID", 0, "exec: make test", NULL);
	want("verify ID", 0, "verified: ", NULL);
	want("verify --json", 0, "\"verdict\":\"verified\"", NULL);
	want("verify --key zz", 2, NULL, "--key: expected 64 hexadecimal digits");
	want("diff", 0, "-two\n+2\n+three\n", NULL);
	want("diff --stat", 0, "a.txt", NULL);
	want("diff --name-only --path b*", 0, NULL, NULL);
	snprintf(line, sizeof(line), "diff %llu %llu", (unsigned long long)first, (unsigned long long)first);
	want(line, 0, "-two\n+2\n", NULL);
	ok(!strstr(ran.out, "three"), "only what the first action did");
	snprintf(line, sizeof(line), "diff %llu", (unsigned long long)second);
	want(line, 0, "+three\n", NULL);
	ok(!strstr(ran.out, "-two"), "from before the second action on");
	want("diff --box b7", 2, NULL, "sandbox 'b7'");
	want("diff --box b1 --json", 0, "\"path\":\"a.txt\"", NULL);
}

static void put(const char *path, const char *text)
{
	struct err err = ERR_INIT;
	if (file_write_atomic(path, text, strlen(text), 0600, &err) < 0)
		printf("# %s\n", err.text);
}

static void check_bad_files(void)
{
	char line[200], path[100];
	want("show /nonexistent/x.glass", 2, NULL, "/nonexistent/x.glass");
	snprintf(line, sizeof(line), "show %s/", dir);
	want(line, 2, NULL, "directory");
	snprintf(path, sizeof(path), "%s/foreign.glass", dir);
	put(path, "not a session, only text that is longer than a header of any file format would be");
	snprintf(line, sizeof(line), "verify %s", path);
	want(line, 2, NULL, "foreign.glass");
	unlink(path);
	want("show s-nope", 2, NULL, "session 's-nope' not found");
	want("show fix", 0, "session", NULL);
	want("show #x", 2, NULL, "expected an event number, got '#x'");
}

static void check_prune(void)
{
	struct stat st;
	CLEANUP(free_ptr) char *path = NULL;
	struct err err = ERR_INIT;
	want("prune", 2, NULL, "missing arguments");
	want("prune --older-than soon", 2, NULL, "--older-than: expected a time");
	want("prune --older-than 30d", 0, NULL, "nothing to remove");
	want("prune ID -n", 0, "would remove s-", NULL);
	want("prune ID", 8, "would remove s-", "nothing removed");
	ok(session_find(dir, id, &path, &err) == 0 && stat(path, &st) == 0, "it is still there");
	want("prune ID --yes", 0, "removed s-", NULL);
	ok(stat(path, &st) < 0, "it is gone");
}

static void check_new(void)
{
	char cwd[200];
	if (!getcwd(cwd, sizeof(cwd)) || chdir(dir) < 0)
		return;
	want("new my --from coding", 0, "wrote my.lua and my.script.lua\n", NULL);
	want("new my --from coding", 2, NULL, "'my.lua' already exists");
	want("new my --from coding --force", 0, "wrote my.lua", NULL);
	want("new in --coupling inside --mirror yes", 0, "pattern: the agent runs inside the sandbox (inside)\n", NULL);
	want("new out --keys outside", 0, "pattern: the sandbox is a tool of your agent (coding)\n", NULL);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	ok(file_read("my.lua", &text, 1 << 20, &err) == 0 && strstr(text.data, "scripted:my.script.lua") &&
		   !strstr(text.data, "@NAME@"),
	   "the name is filled in");
	if (chdir(cwd) < 0)
		return;
}

static void check_names(void)
{
	char *name = NULL, *sid = NULL;
	ok(session_file_name("2026-11-21-fix-it-now-7k2m9q.glass", &name, &sid), "a session's file name");
	is_str(name, "fix-it-now", "its name");
	is_str(sid, "s-7k2m9q", "its id");
	free(name);
	free(sid);
	ok(!session_file_name("2026-11-21-7k2m9q.glass", &name, &sid) && !session_file_name("x.glass", &name, &sid) &&
		   !session_file_name("2026-11-21-fix-.glass", &name, &sid),
	   "others");
}

int main(void)
{
	struct err err = ERR_INIT;
	hash_init();
	if (!mkdtemp(dir))
		return 1;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	setenv("XDG_STATE_HOME", dir, 1);
	setenv("XDG_CONFIG_HOME", dir, 1);
	setenv("XDG_DATA_HOME", dir, 1);
	setenv("SANDGLASS_SESSIONS", dir, 1);
	setenv("TZ", "UTC", 1);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, 0); /* nobody is there to answer */
	close(null);
	check_names();
	make_session("fix");
	check_usage();
	check_reading();
	check_bad_files();
	check_new();
	check_prune();
	free(ran.out);
	free(ran.err);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
