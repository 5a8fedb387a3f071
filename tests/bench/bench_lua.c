/* What agents cost in a Lua host: bench_lua PATH-OF-sandglass-host [agents]
 *
 * Bytes and time of an agent that waits, of a switch between two, of a turn (answer in, call out) in this process and
 * through the real host's socket, of a whole host. Beside it Python's asyncio, when it is there. Medians of 9 rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "script/host.h"

enum { ROUNDS = 9, TURNS = 2000 };

static NORETURN void exhausted(void *self, const struct buf *out)
{
	(void)self, (void)out;
	fprintf(stderr, "bench_lua: out of memory\n");
	exit(1);
}

/* A host in this process, or the program behind a socket. */
struct side {
	struct host *h;
	int sock;
	pid_t pid;
	struct buf out; /* of the last turn */
};

static void send_frame(struct side *s, enum host_frame type, uint64_t id, const char *body)
{
	struct err err = ERR_INIT;
	buf_reset(&s->out);
	if (s->h) {
		struct frame f = { .type = (uint16_t)type, .id = id, .body = body, .len = strlen(body) };
		host_feed(s->h, &f, &s->out);
		return;
	}
	if (frame_send(s->sock, (uint16_t)type, id, body, strlen(body), NULL, 0, &err) < 0)
		exit(1);
	struct buf bytes = BUF_INIT;
	for (struct frame f = { 0 }; f.type != HOST_IDLE && f.type != HOST_END;) {
		size_t none = 0;
		if (frame_recv(s->sock, HOST_BODY_MAX, &f, &bytes, NULL, &none, &err) < 0)
			exit(1);
		frame_append(&s->out, f.type, f.id, f.body, f.len);
	}
	buf_release(&bytes);
}

/* The last CALL of the turn; returns its id, 0 if there was none. */
static uint64_t last_call(const struct side *s, json_t **body_out)
{
	uint64_t id = 0;
	size_t used;
	struct frame f;
	struct err err = ERR_INIT;
	for (size_t at = 0; frame_parse(s->out.data + at, s->out.len - at, HOST_BODY_MAX, &f, &used, &err) == 1;
	     at += used) {
		if (f.type == HOST_END)
			fprintf(stderr, "bench_lua: the script ended: %.*s\n", (int)f.len, f.body);
		if (f.type != HOST_CALL)
			continue;
		id = f.id;
		if (!body_out)
			continue;
		json_decref(*body_out);
		*body_out = json_parse(f.body, f.len, "call", &err);
	}
	return id;
}

/* Starts the script and answers its modules; returns the id of the first call that is something else. */
static uint64_t start(struct side *s, const char *text)
{
	json_t *o = json_pack("{s:i,s:s,s:s,s:s,s:s}", "t", 1, "mode", "script", "script", "bench.lua", "text", text,
			      "seed", "1");
	char *body = json_dump_str(o);
	json_t *call = NULL;
	uint64_t id;
	send_frame(s, HOST_START, 0, body);
	free(body);
	json_decref(o);
	while ((id = last_call(s, &call)) && strcmp(json_str(call, "op", ""), "module") == 0) {
		const char *name = json_str(json_object_get(call, "args"), "name", "");
		char *path = strcmp(name, "sandglass") == 0 ? mem_strdup("lua/sandglass/init.lua")
							    : mem_printf("lua/%s.lua", name);
		for (char *p = path + 4; p + 4 < path + strlen(path); p++)
			*p = *p == '.' ? '/' : *p;
		struct buf module = BUF_INIT;
		struct err err = ERR_INIT;
		if (file_read(path, &module, 1 << 20, &err) < 0) {
			fprintf(stderr, "bench_lua: %s (run it from the source tree)\n", err.text);
			exit(1);
		}
		o = json_pack("{s:i,s:{s:s%}}", "t", 1, "value", "text", module.data, module.len);
		body = json_dump_str(o);
		send_frame(s, HOST_ANSWER, id, body);
		free(body);
		json_decref(o);
		buf_release(&module);
		free(path);
	}
	json_decref(call);
	return id;
}

static void open_inside(struct side *s)
{
	*s = (struct side){ .sock = -1 };
	s->h = script_host_new(exhausted, NULL);
}

static void open_process(struct side *s, const char *path)
{
	int pair[2];
	*s = (struct side){ .sock = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(1);
	s->pid = fork();
	if (s->pid == 0) {
		dup2(pair[1], HOST_FD);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	s->sock = pair[0];
}

static void close_side(struct side *s)
{
	script_host_free(&s->h);
	if (s->sock >= 0) {
		fd_close(&s->sock);
		waitpid(s->pid, NULL, 0);
	}
	buf_release(&s->out);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_value);
	return v[ROUNDS / 2];
}

/* --- measurements ------------------------------------------------------------------------------------------------- */

static const char wait_all[] = "local sg = require 'sandglass'\n"
			       "sg.sleep(0)\n"
			       "for i = 1, %d do sg.spawn(function() sg.sleep(1) end) end\n"
			       "sg.sleep(1)\n";

/* Agents that wait for an answer: bytes and microseconds each. */
static void agents(int nr, double *bytes_out, double *us_out)
{
	double us[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		struct side s;
		char *text = mem_printf(wait_all, nr);
		open_inside(&s);
		uint64_t id = start(&s, text);
		size_t before = host_memory(s.h);
		int64_t t0 = clock_mono_us();
		send_frame(&s, HOST_ANSWER, id, "{\"t\":2,\"value\":{}}");
		us[i] = (double)(clock_mono_us() - t0) / nr;
		*bytes_out = (double)(host_memory(s.h) - before) / nr;
		close_side(&s);
		free(text);
	}
	*us_out = median(us);
}

/* Microseconds of a switch: two tasks hand a value back and forth, no frame in between. */
static double switches(void)
{
	static const char text[] = "local sg = require 'sandglass'\n"
				   "local a, b = sg.channel(), sg.channel()\n"
				   "sg.spawn(function() while true do b:send(a:recv()) end end)\n"
				   "while true do\n"
				   "  sg.sleep(0)\n"
				   "  for i = 1, 10000 do a:send(i) b:recv() end\n"
				   "end\n";
	double us[ROUNDS];
	struct side s;
	open_inside(&s);
	uint64_t id = start(&s, text);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t t0 = clock_mono_us();
		send_frame(&s, HOST_ANSWER, id, "{\"t\":2,\"value\":{}}");
		us[i] = (double)(clock_mono_us() - t0) / 20000;
		id = last_call(&s, NULL);
	}
	close_side(&s);
	return median(us);
}

/* Microseconds of a turn: answer in, the script continues, next call out. */
static double turns(const char *path)
{
	static const char text[] = "local sg = require 'sandglass'\nwhile true do sg.sleep(0) end\n";
	double us[ROUNDS];
	struct side s;
	if (path)
		open_process(&s, path);
	else
		open_inside(&s);
	uint64_t id = start(&s, text);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t t0 = clock_mono_us();
		for (int j = 0; j < TURNS; j++)
			send_frame(&s, HOST_ANSWER, id++, "{\"t\":2,\"value\":{}}");
		us[i] = (double)(clock_mono_us() - t0) / TURNS;
	}
	close_side(&s);
	return median(us);
}

/* A whole host: milliseconds to its first call, bytes that Lua holds then. */
static void hosts(const char *path, double *ms_out, double *bytes_out)
{
	double ms[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		struct side s;
		int64_t t0 = clock_mono_us();
		if (path)
			open_process(&s, path);
		else
			open_inside(&s);
		start(&s, "require 'sandglass'.sleep(1)");
		ms[i] = (double)(clock_mono_us() - t0) / 1000;
		if (s.h)
			*bytes_out = (double)host_memory(s.h);
		close_side(&s);
	}
	*ms_out = median(ms);
}

/* The same two figures for asyncio: microseconds of put and wake, bytes of a waiting task. 0 if there is no python3. */
static void asyncio(double *us_out, double *bytes_out)
{
	static const char *const program =
		"python3 -c '\n"
		"import asyncio, time, resource\n"
		"async def main():\n"
		"    a, b = asyncio.Queue(), asyncio.Queue()\n"
		"    async def echo():\n"
		"        while True: await b.put(await a.get())\n"
		"    e = asyncio.create_task(echo())\n"
		"    t = time.perf_counter()\n"
		"    for i in range(20000):\n"
		"        await a.put(i)\n"
		"        await b.get()\n"
		"    us = (time.perf_counter() - t) / 40000 * 1e6\n"
		"    def rss(): return int(open(\"/proc/self/statm\").read().split()[1]) * 4096\n"
		"    async def wait(q): await q.get()\n"
		"    r = rss(); l = [asyncio.create_task(wait(asyncio.Queue())) for i in range(10000)]\n"
		"    await asyncio.sleep(0)\n"
		"    print(us, (rss() - r) / 10000)\n"
		"    e.cancel(); [t.cancel() for t in l]\n"
		"asyncio.run(main())' 2>/dev/null";
	FILE *p = popen(program, "r");
	*us_out = *bytes_out = 0;
	if (!p)
		return;
	if (fscanf(p, "%lf %lf", us_out, bytes_out) != 2)
		*us_out = *bytes_out = 0;
	pclose(p);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_lua PATH-OF-sandglass-host [agents]\n");
		return 2;
	}
	int nr = argc > 2 ? atoi(argv[2]) : 10000;
	double bytes = 0, us = 0, ms = 0, heap = 0, peer_us = 0, peer_bytes = 0;
	agents(nr > 0 ? nr : 1, &bytes, &us);
	asyncio(&peer_us, &peer_bytes);
	double swap = switches();
	printf("lua  %d waiting agents: %.0f bytes, %.2f us each", nr, bytes, us);
	printf(peer_bytes > 0 ? "; asyncio task %.0f bytes, ratio %.2f\n" : "\n", peer_bytes, bytes / peer_bytes);
	printf("lua  switch of tasks through a channel: %.2f us", swap);
	printf(peer_us > 0 ? "; asyncio put and wake %.2f us, ratio %.2f\n" : "\n", peer_us, swap / peer_us);
	double inside = turns(NULL), socket_us = turns(argv[1]);
	printf("lua  turn (answer in, call out): %.2f us; through the host's socket %.2f us, ratio %.2f\n", inside,
	       socket_us, socket_us / inside);
	hosts(argv[1], &ms, &heap);
	hosts(NULL, &us, &heap);
	printf("lua  a host with the library loaded: %.2f ms as a process, %.2f ms inside, %.0f KB of Lua heap\n", ms,
	       us, heap / 1024);
	printf("lua  an agent <= 32 KB: %s\n", bytes <= 32768 ? "PASS" : "FAIL");
	return bytes <= 32768 ? 0 : 1;
}
