#include "script/host.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "script/codec.h"
#include "script/env.h"

struct host {
	lua_State *L;
	size_t mem, mem_max;
	uint64_t turn;
	struct buf *out; /* of the turn that runs */
	json_t *start;	 /* kept until boot.lua has come */
	bool booted, ended, exhausted_now;
	int code;
	struct buf body; /* of the frame that is being made */
	void (*exhausted)(void *self, const struct buf *out);
	void *self;
};

enum { BOOT_CALL = 1, CODE_INTERNAL = 70, CODE_LIMIT = 3 };

/* --- frames out -------------------------------------------------------------------------------
 */

static void script_host_send_json(struct host *h, enum host_frame type, uint64_t id, json_t *body)
{
	buf_reset(&h->body);
	json_dump_buf(body, &h->body);
	frame_append(h->out, (uint16_t)type, id, buf_cstr(&h->body), h->body.len);
	json_release(&body);
}

static void send_end(struct host *h, int code, const char *error, const char *why)
{
	json_t *err = json_object(), *body = json_object();
	json_put_str(err, "code", error);
	json_put_str(err, "msg", why);
	json_put_flag(body, "ok", false);
	json_put_int(body, "code", code);
	json_put_str(body, "why", why);
	json_put(body, "err", err);
	h->ended = true;
	h->code = code;
	script_host_send_json(h, HOST_END, 0, body);
}

static void send_idle(struct host *h, lua_Integer waiting)
{
	json_t *body = json_object();
	json_put_int(body, "turn", (int64_t)h->turn);
	json_put_int(body, "waiting", waiting);
	script_host_send_json(h, HOST_IDLE, 0, body);
}

/* --- memory -----------------------------------------------------------------------------------
 */

static void *script_host_allocate(void *self, void *p, size_t old, size_t size)
{
	struct host *h = self;
	if (!p)
		old = 0;
	if (!size) {
		h->mem -= old;
		free(p);
		return NULL;
	}
	if (size > old && h->mem + (size - old) > h->mem_max && h->out && !h->exhausted_now) {
		/* Raising would let the script see the memory limit and continue. It ends here. */
		h->exhausted_now = true;
		char why[120];
		snprintf(why, sizeof(why), "the script needs more than its %zu MB of memory",
			 h->mem_max >> 20);
		send_end(h, CODE_LIMIT, "limit", why);
		h->exhausted(h->self, h->out);
	}
	void *q = mem_realloc(p, size);
	h->mem += size - old;
	return q;
}

/* --- what boot.lua is given -------------------------------------------------------------------
 */

static struct host *script_host_of(lua_State *L)
{
	void *self;
	lua_getallocf(L, &self);
	return self;
}

/* send(type, id, body): type is the name of the frame. */
static int core_send(lua_State *L)
{
	struct host *h = script_host_of(L);
	static const struct {
		const char *name;
		enum host_frame type;
	} rows[] = { { "call", HOST_CALL },	  { "tell", HOST_TELL },
		     { "cancel", HOST_CANCEL },	  { "result", HOST_RESULT },
		     { "verdict", HOST_VERDICT }, { "end", HOST_END },
		     { "value", HOST_VALUE } };
	const char *name = luaL_checkstring(L, 1);
	lua_Integer id = luaL_checkinteger(L, 2);
	luaL_checktype(L, 3, LUA_TTABLE);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		buf_reset(&h->body);
		codec_put(L, 3, CODEC_FRAME, &h->body);
		if (h->body.len > HOST_BODY_MAX)
			return luaL_error(L, "more than %d MB in one call",
					  (int)HOST_BODY_MAX >> 20);
		if (rows[i].type == HOST_END) {
			lua_getfield(L, 3, "code");
			h->code = (int)lua_tointeger(L, -1);
			h->ended = true;
		}
		frame_append(h->out, (uint16_t)rows[i].type, (uint64_t)id, buf_cstr(&h->body),
			     h->body.len);
		return 0;
	}
	return luaL_error(L, "send: no frame '%s'", name);
}

/* Message handler for errors of the library itself: they end the host, with where it happened. */
static int on_bug(lua_State *L)
{
	const char *msg = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "error without text";
	luaL_traceback(L, L, msg, 1);
	return 1;
}

/* Function at -nargs-1; results none. */
static void script_host_run(struct host *h, int nargs, int nresults)
{
	lua_State *L = h->L;
	int base = lua_gettop(L) - nargs;
	lua_pushcfunction(L, on_bug);
	lua_insert(L, base);
	int rc = lua_pcall(L, nargs, nresults, base);
	lua_remove(L, base);
	if (rc == LUA_OK)
		return;
	send_end(h, CODE_INTERNAL, "script", lua_tostring(L, -1));
	lua_settop(L, 0);
}

static const char turn_key;

/* Runs boot.lua: it is given core and returns the function that takes frames. */
static void script_host_boot(struct host *h, const json_t *answer)
{
	lua_State *L = h->L;
	const json_t *value = json_object_get(answer, "value"),
		     *text = json_object_get(value, "text");
	if (!json_is_string(text)) {
		const char *why = json_str(json_object_get(answer, "err"), "msg", "no text");
		send_end(h, CODE_INTERNAL, "io", why);
		return;
	}
	env_open(L); /* core */
	lua_pushcfunction(L, core_send);
	lua_setfield(L, -2, "send");
	if (luaL_loadbufferx(L, json_string_value(text), json_string_length(text),
			     "@sandglass/boot.lua", "t") != LUA_OK) {
		send_end(h, CODE_INTERNAL, "script", lua_tostring(L, -1));
		return;
	}
	lua_insert(L, -2); /* chunk core */
	script_host_run(h, 1, 1);
	if (h->ended)
		return;
	lua_rawsetp(L, LUA_REGISTRYINDEX, &turn_key);
	h->booted = true;
}

/* turn(type name, id, body) -> number of calls under way */
static void script_host_turn(struct host *h, uint16_t type, uint64_t id, const json_t *body)
{
	lua_State *L = h->L;
	lua_rawgetp(L, LUA_REGISTRYINDEX, &turn_key);
	lua_pushstring(L, host_frame_name(type));
	lua_pushinteger(L, (lua_Integer)id);
	codec_push(L, body, CODEC_FRAME);
	script_host_run(h, 3, 1);
	if (h->ended)
		return;
	lua_Integer waiting = lua_tointeger(L, -1);
	lua_settop(L, 0);
	send_idle(h, waiting);
}

/* --- frames in --------------------------------------------------------------------------------
 */

static void script_host_start(struct host *h, json_t *body)
{
	int64_t mem = json_int(body, "mem_bytes", HOST_MEM_DEFAULT);
	h->mem_max = mem > 0 ? (size_t)mem : HOST_MEM_DEFAULT;
	h->start = json_incref(body);
	json_t *args = json_object(), *call = json_object();
	json_put_str(args, "name", "sandglass.boot");
	json_put_str(call, "op", "module");
	json_put_int(call, "task", 0);
	json_put_int(call, "agent", 0);
	json_put(call, "args", args);
	script_host_send_json(h, HOST_CALL, BOOT_CALL, call);
	send_idle(h, 1);
}

static void script_host_take_frame(struct host *h, const struct frame *f, json_t *body)
{
	if (!h->start) {
		if (f->type == HOST_START)
			script_host_start(h, body);
		else
			send_end(h, CODE_INTERNAL, "script", "the first frame must be start");
		return;
	}
	if (!host_frame_name(f->type) || f->type == HOST_START || f->type >= HOST_CALL) {
		send_end(h, CODE_INTERNAL, "script", "a frame of an unknown type came");
		return;
	}
	if (h->booted) {
		script_host_turn(h, f->type, f->id, body);
		return;
	}
	if (f->type != HOST_ANSWER || f->id != BOOT_CALL) {
		send_idle(h, 1); /* nothing runs yet that could want it */
		return;
	}
	script_host_boot(h, body);
	if (!h->ended)
		script_host_turn(h, HOST_START, 0, h->start);
}

bool host_feed(struct host *h, const struct frame *f, struct buf *out)
{
	assert(!h->ended);
	struct err err = ERR_INIT;
	h->out = out;
	h->turn++;
	json_t *body = json_parse(f->body, f->len, "frame to the host", &err);
	if (!body || !json_is_object(body))
		send_end(h, CODE_INTERNAL, "script",
			 body ? "a frame without an object came" : err.text);
	else
		script_host_take_frame(h, f, body);
	json_release(&body);
	h->out = NULL;
	return !h->ended;
}

struct host *script_host_new(void (*exhausted)(void *self, const struct buf *out), void *self)
{
	struct host *h = NEW(struct host);
	h->exhausted = exhausted;
	h->self = self;
	h->mem_max = HOST_MEM_DEFAULT;
	setenv("TZ", "UTC0", 1); /* os.date and os.time count in UTC */
	tzset();		 /* looks for a file of that name, once: later there are no files */
	h->L = lua_newstate(script_host_allocate, h);
	assert(h->L);
	/* a quarter of garbage beside what waits, not as much again: memory of a thousand agents */
	lua_gc(h->L, LUA_GCINC, 125, 200, 0);
	return h;
}

void script_host_free(struct host **hp)
{
	struct host *h = take(hp);
	if (!h)
		return;
	lua_close(h->L);
	json_release(&h->start);
	buf_release(&h->body);
	free(h);
}

int host_code(const struct host *h)
{
	return h->code;
}

size_t host_memory(const struct host *h)
{
	return h->mem;
}
