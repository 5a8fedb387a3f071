#include "supervisor/telemetry/otlp_live.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/core/parts.h"
#include "exchange/otlp_batch.h"
#include "secrets/vault.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/retry.h"
#include "http/url.h"

enum {
	EVERY_US = 5000000,
	EVERY_MIN_US = 100000,
	EVERY_MAX_S = 3600,
	AWAY_US = 300 * 1000000,
	TURN_MS = 20,
	CONNECT_US = 5000000,
	TOTAL_US = 20000000,
	ANSWER_MAX = 4096,
};

enum live_state { LIVE_IDLE, LIVE_KEYS, LIVE_READING, LIVE_TRACES, LIVE_METRICS };

struct otlp_live {
	struct super *s;
	const json_t *conf;		/* borrowed from the options */
	char *traces, *metrics, *place; /* place: host and port, for users */
	struct http *http;
	struct http_call *call;
	struct loop_timer *timer;
	enum live_state state;
	struct strv secrets; /* names in headers */
	size_t secrets_left;
	bool keys;  /* their values are in the vault */
	char *path; /* of the session file */
	/* worker's, while LIVE_READING */
	struct otlp_batch batch;
	struct otlp_state now;
	struct buf metrics_body;
	struct err read_err;
	uint64_t *open;
	/* of the batch that was read */
	uint64_t sent, ended, failed;
	bool last_sent;
	/* of the request under way */
	struct retry_hint hint;
	struct buf answer;
	/* of a collector that is away */
	unsigned tries;
	int64_t retry_at_us; /* mono */
	bool told_away, told_refused, stop;
};

/* --- settings --- */

static bool field_ok(const char *s)
{
	return !strpbrk(s, "\r\n");
}

static int otlp_live_check_header(const char *name, const json_t *v, struct err *err)
{
	const char *secret = json_str(v, "secret", NULL), *key;
	json_t *item;
	if (!*name ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
		    strlen(name))
		return err_set(err, ERR_INVALID, "otlp.headers: invalid header name '%.40s'", name);
	if (json_is_string(v) && field_ok(json_string_value(v)))
		return 0;
	bool good = json_is_object(v) && secret && field_ok(json_str(v, "prefix", ""));
	json_object_foreach((json_t *)(uintptr_t)v, key, item) good &=
		(!strcmp(key, "secret") || !strcmp(key, "prefix")) && json_is_string(item);
	if (!good)
		return err_set(
			err, ERR_INVALID,
			"otlp.headers.%s: expected a text, or { secret = \"NAME\", prefix = \"Bearer \" }",
			name);
	return 0;
}

int otlp_live_check(const json_t *conf, struct err *err)
{
	const char *endpoint = json_str(conf, "endpoint", ""), *key;
	int64_t every = json_int(conf, "every_us", EVERY_US);
	struct url u = { 0 };
	json_t *v;
	if (!*endpoint)
		return 0;
	if (url_parse(&u, NULL, endpoint, err) < 0) {
		err_wrap(err, "otlp.endpoint");
		return -1;
	}
	bool plain = !strchr(u.text, '?');
	url_release(&u);
	if (!plain)
		return err_set(err, ERR_INVALID,
			       "otlp.endpoint: expected a URL without '?'; /v1/traces is appended");
	if (every < EVERY_MIN_US || every > EVERY_MAX_S * 1000000LL)
		return err_set(err, ERR_INVALID, "otlp.every: expected 0.1s to 1h");
	json_object_foreach(json_object_get(conf, "headers"), key,
			    v) if (otlp_live_check_header(key, v, err) < 0) return -1;
	return 1;
}

/* --- warnings --------------------------------------------------------------------------------- */

static void otlp_live_later(struct otlp_live *l)
{
	int64_t every = json_int(l->conf, "every_us", EVERY_US),
		wait = every << (l->tries < 8 ? l->tries : 8);
	wait = wait < AWAY_US ? wait : AWAY_US > every ? AWAY_US : every;
	if (l->hint.after_us > wait)
		wait = l->hint.after_us < AWAY_US ? l->hint.after_us : AWAY_US;
	l->tries++;
	l->retry_at_us = clock_mono_us() + wait;
	l->state = LIVE_IDLE;
}

static void put_off(struct otlp_live *l, const char *why)
{
	otlp_live_later(l);
	if (l->told_away) {
		log_info("telemetry: %s: %s", l->place, why);
		return;
	}
	l->told_away = true;
	super_warn(
		l->s,
		"see otlp.endpoint in the configuration; 'sandglass export -F otlp' has everything later",
		"the telemetry collector at %s takes nothing: %s; %s", l->place, why,
		l->batch.last ? "the session ends without it"
			      : "the session continues and tries again later");
}

static void otlp_live_left_out(struct otlp_live *l, const char *why)
{
	if (!l->told_refused)
		super_warn(l->s, NULL, "the telemetry collector at %s refuses some data: %s",
			   l->place, why);
	l->told_refused = true;
}

/* --- one round: keys, reading, traces, metrics --- */

static void read_batch(struct otlp_live *l);
static void otlp_live_post(struct otlp_live *l, const char *url, const struct buf *body);

static void round_done(struct otlp_live *l)
{
	l->state = LIVE_IDLE;
	l->tries = 0;
	l->last_sent |= l->batch.last;
}

static void traces_taken(struct otlp_live *l)
{
	l->sent = l->batch.reached;
	l->ended += l->batch.ended;
	l->failed += l->batch.failed;
	if (l->batch.more && !l->stop) {
		read_batch(l);
		return;
	}
	l->state = LIVE_METRICS;
	otlp_live_post(l, l->metrics, &l->metrics_body);
}

static void otlp_live_on_head(void *self, const struct http_head *head)
{
	struct otlp_live *l = self;
	l->hint = retry_hint(head, clock_wall_us() / 1000000);
}

static void otlp_live_on_data(void *self, const void *bytes, size_t len)
{
	struct otlp_live *l = self;
	size_t room = ANSWER_MAX - l->answer.len;
	buf_append(&l->answer, bytes, len < room ? len : room);
}

/* {"partialSuccess":{"rejectedSpans":"3","errorMessage":"..."}}: taken, but not all of it. */
static void look_partial(struct otlp_live *l)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *j =
		l->answer.len ? json_parse(l->answer.data, l->answer.len, "answer", &none) : NULL;
	const json_t *partial = json_object_get(j, "partialSuccess");
	const char *why = json_str(partial, "errorMessage", "");
	if (*why)
		otlp_live_left_out(l, why);
}

/* A proxy that asks for a login answers with a page and status 200, but has accepted nothing. */
static bool is_page(const struct buf *answer)
{
	const char *p = buf_cstr(answer);
	return p[strspn(p, " \t\r\n")] == '<';
}

static void otlp_live_on_end(void *self, const struct http_end *end)
{
	struct otlp_live *l = self;
	bool page = is_page(&l->answer);
	bool taken = end->how == HTTP_OK && end->status >= 200 && end->status < 300 && !page;
	bool wrong = end->how == HTTP_OK &&
		     (end->status == 400 || end->status == 413 || end->status == 422);
	char why[160];
	l->call = NULL;
	snprintf(why, sizeof(why), "it answers %d%s", end->status, page ? " with a web page" : "");
	if (!taken && !wrong) {
		put_off(l, end->how == HTTP_OK ? why : end->text);
		return;
	}
	if (wrong)
		otlp_live_left_out(l, why);
	else
		look_partial(l);
	if (l->state == LIVE_TRACES)
		traces_taken(l);
	else
		round_done(l);
}

static void otlp_live_put_header(struct otlp_live *l, struct strv *out, const char *name,
				 const json_t *v)
{
	const char *secret = json_str(v, "secret", NULL), *value = json_string_value(v);
	struct buf b = BUF_INIT;
	size_t len = value ? strlen(value) : 0;
	if (secret)
		value = vault_value(l->s->vault, secret, &len);
	buf_printf(&b, "%s: %s", name, json_str(v, "prefix", ""));
	if (value)
		buf_append(&b, value, len);
	if (field_ok(buf_cstr(&b)))
		strv_push_bytes(out, b.data, b.len);
	secret_wipe(b.data, b.len);
	buf_release(&b);
}

static void otlp_live_post(struct otlp_live *l, const char *url, const struct buf *body)
{
	const struct http_handler h = { .head = otlp_live_on_head,
					.data = otlp_live_on_data,
					.end = otlp_live_on_end,
					.self = l };
	struct strv headers = STRV_INIT;
	const char *key;
	json_t *v;
	strv_push(&headers, "Content-Type: application/json");
	json_object_foreach(json_object_get(l->conf, "headers"), key, v)
		otlp_live_put_header(l, &headers, key, v);
	const struct http_request rq = {
		.url = url,
		.headers = (const char *const *)(uintptr_t)headers.item,
		.body = body->data,
		.body_len = body->len,
		.connect_us = CONNECT_US,
		.total_us = TOTAL_US,
	};
	buf_reset(&l->answer);
	l->hint = (struct retry_hint){ .should = -1, .after_us = -1 };
	l->call = http_send(l->http, &rq, &h);
	for (size_t i = 0; i < headers.nr; i++)
		secret_wipe(headers.item[i], strlen(headers.item[i]));
	strv_release(&headers);
}

/* Worker. */
static void read_work(void *self)
{
	struct otlp_live *l = self;
	struct session *s = NULL;
	if (session_open(&s, l->path, &l->read_err) < 0)
		return;
	buf_reset(&l->metrics_body);
	if (otlp_batch_read(&l->batch, s, &l->read_err) == 0) {
		l->now.ended += l->batch.ended;
		l->now.failed += l->batch.failed;
		otlp_metrics(&l->now, s, &l->metrics_body);
	}
	session_close(&s);
}

static void otlp_live_read_done(void *self)
{
	struct otlp_live *l = self;
	l->state = LIVE_IDLE;
	if (l->stop)
		return;
	if (l->read_err.code) {
		log_warn("telemetry: %s", l->read_err.text);
		otlp_live_later(l);
		return;
	}
	l->state = LIVE_TRACES;
	if (l->batch.spans)
		otlp_live_post(l, l->traces, &l->batch.traces);
	else
		traces_taken(l);
}

static void look_held(struct super *s, struct otlp_state *now)
{
	CLEANUP(json_release) json_t *state = s->gate ? gate_state(s->gate) : NULL;
	const json_t *held = json_object_get(state, "held");
	size_t i;
	json_t *h;
	now->held = gate_state_waits(state);
	json_array_foreach(held, i, h)
	{
		int64_t age =
			gate_row_waits(h) ? now->now_us - json_int(h, "since_us", now->now_us) : 0;
		if (age > now->queue_age_us)
			now->queue_age_us = age;
	}
}

static void read_batch(struct otlp_live *l)
{
	struct super *s = l->s;
	struct otlp_batch *b = &l->batch;
	l->now = (struct otlp_state){ .running = !l->s->ending,
				      .ended = l->ended,
				      .failed = l->failed,
				      .now_us = clock_wall_us(),
				      .lag_events =
					      record_head(s->record) - record_committed(s->record),
				      .lag_bytes = record_backlog(s->record) };
	look_held(s, &l->now);
	b->after = l->sent;
	b->upto = record_committed(s->record);
	b->content = json_flag(l->conf, "content", false);
	b->now_us = l->now.now_us;
	b->ok = s->status == 0;
	b->nr_open = 0;
	if (b->last) {
		l->open = mem_realloc(l->open, (s->nr_agents + 1) * sizeof(*l->open));
		for (size_t i = 0; i < s->nr_agents; i++)
			if (!s->agent[i].ended)
				l->open[b->nr_open++] = s->agent[i].id;
	}
	b->open = l->open;
	l->read_err = ERR_INIT;
	l->state = LIVE_READING;
	loop_job_run(s->loop, read_work, otlp_live_read_done, l);
}

static void otlp_live_on_key(void *self, const char *value, size_t len, const struct err *err)
{
	struct otlp_live *l = self;
	(void)len;
	if (l->state != LIVE_KEYS)
		return;
	if (!value) {
		vault_forget(l->s->vault, l);
		put_off(l, err->text);
	} else if (--l->secrets_left == 0) {
		l->keys = true;
		read_batch(l);
	}
}

static void begin_round(struct otlp_live *l)
{
	if (l->keys) {
		read_batch(l);
		return;
	}
	l->state = LIVE_KEYS;
	l->secrets_left = l->secrets.nr;
	for (size_t i = 0; i < l->secrets.nr; i++)
		vault_get(l->s->vault, l->secrets.item[i], "telemetry", l->s->start_seq, 0,
			  otlp_live_on_key, l);
}

static void otlp_live_tick(void *self)
{
	struct otlp_live *l = self;
	if (l->state == LIVE_IDLE && clock_mono_us() >= l->retry_at_us && !l->s->ending)
		begin_round(l);
}

/* --- begin and end --- */

static int set_urls(struct otlp_live *l, struct err *err)
{
	static const char tail[] = "/v1/traces";
	struct url u = { 0 };
	if (url_parse(&u, NULL, json_str(l->conf, "endpoint", ""), err) < 0)
		return -1;
	size_t n = strlen(u.text);
	if (n > sizeof(tail) && !strcmp(u.text + n - (sizeof(tail) - 1), tail))
		n -= sizeof(tail) - 1;
	while (n && u.text[n - 1] == '/')
		n--;
	l->traces = mem_printf("%.*s/v1/traces", (int)n, u.text);
	l->metrics = mem_printf("%.*s/v1/metrics", (int)n, u.text);
	l->place = mem_printf("%s:%u", u.host, u.port);
	url_release(&u);
	return 0;
}

static void live_free(struct otlp_live *l)
{
	http_free(&l->http);
	loop_timer_free(&l->timer);
	otlp_batch_release(&l->batch);
	buf_release(&l->metrics_body);
	buf_release(&l->answer);
	strv_release(&l->secrets);
	free(l->open);
	free(l->traces);
	free(l->metrics);
	free(l->place);
	free(l->path);
	free(l);
}

struct otlp_session {
	struct otlp_live *live; /* NULL when nobody collects */
};

static struct otlp_session *otlp_session_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct otlp_session), NULL };
	return super_part(s, &part);
}

int otlp_live_begin(struct super *s, struct err *err)
{
	const char *key;
	json_t *v;
	int rc = otlp_live_check(s->opts->otlp, err);
	if (rc <= 0)
		return rc;
	struct otlp_live *l = NEW(struct otlp_live);
	*l = (struct otlp_live){ .s = s,
				 .conf = s->opts->otlp,
				 .path = mem_strdup(record_path(s->record)),
				 .sent = s->opts->resume ? record_head(s->record) : 0 };
	json_object_foreach(json_object_get(l->conf, "headers"), key,
			    v) if (json_str(v, "secret", NULL))
		strv_push(&l->secrets, json_str(v, "secret", NULL));
	l->keys = l->secrets.nr == 0;
	if (set_urls(l, err) < 0 || http_new(&l->http, s->loop, NULL, err) < 0) {
		live_free(l);
		return -1;
	}
	uint64_t every_ms = (uint64_t)json_int(l->conf, "every_us", EVERY_US) / 1000;
	l->timer = loop_timer_new(s->loop, otlp_live_tick, l);
	loop_timer_set(l->timer, every_ms, every_ms);
	otlp_session_of(s)->live = l;
	return 0;
}

/* The last round, while there is time: everything that is committed, then the session itself. */
static void send_rest(struct otlp_live *l)
{
	struct super *s = l->s;
	if (l->state == LIVE_IDLE)
		l->tries = 0; /* perhaps it is back: one question more */
	for (int64_t until = clock_mono_us() + OTLP_END_US;
	     !l->last_sent && clock_mono_us() < until;) {
		if (l->state == LIVE_IDLE && l->tries)
			return;
		if (l->state == LIVE_IDLE &&
		    record_committed(s->record) == record_head(s->record)) {
			l->batch.last = true;
			begin_round(l);
		}
		loop_turn(s->loop, TURN_MS);
	}
}

void otlp_live_end(struct super *s, bool turns)
{
	struct otlp_live *l = take(&otlp_session_of(s)->live);
	if (!l)
		return;
	loop_timer_stop(l->timer);
	if (turns)
		send_rest(l);
	l->stop = true;
	vault_forget(s->vault, l);
	http_cancel(&l->call);
	while (turns && l->state == LIVE_READING)
		loop_turn(s->loop, TURN_MS);
	if (turns && !l->last_sent) {
		l->batch.last = true;
		put_off(l, "it does not answer");
	}
	if (l->state != LIVE_READING)
		live_free(l); /* else a thread reads on; the process ends without another turn */
}
