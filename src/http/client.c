/* libcurl's multi interface driven by our loop: it says which descriptors and which timer it wants,
 * we say what happened. Easy handles are never freed inside a callback of libcurl: calls that ended
 * or were cancelled go to `dead` and are swept afterwards. */
#include "http/client_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"

enum {
	CONNECT_US = 10 * 1000000,
	FIRST_US = 300 * 1000000,
	IDLE_US = 90 * 1000000,
	HOST_CONNECTIONS = 128,
	HEAD_MAX = 256 << 10,
};

struct watch {
	struct http *http;
	struct loop_fd *fd;
};

static void http_client_check(struct http *h);
static void http_client_sweep(void *self);

static int64_t http_client_now_us(const struct http *h)
{
	return loop_now_us(h->loop);
}

/* --- the loop's side -------------------------------------------------------------------------- */

static void http_client_drive(struct http *h, curl_socket_t fd, int what)
{
	int running = 0;
	bool was = h->inside;
	h->inside = true;
	curl_multi_socket_action(h->multi, fd, what, &running);
	h->inside = was;
	http_client_check(h);
}

static void http_client_on_fd(void *self, int fd, unsigned events)
{
	struct watch *w = self;
	int what = 0;
	if (events & LOOP_READ)
		what |= CURL_CSELECT_IN;
	if (events & LOOP_WRITE)
		what |= CURL_CSELECT_OUT;
	http_client_drive(w->http, fd, what);
}

static int http_client_on_socket(CURL *easy, curl_socket_t fd, int what, void *self,
				 void *of_socket)
{
	struct http *h = self;
	struct watch *w = of_socket;
	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			loop_fd_free(&w->fd);
		free(w);
		return 0;
	}
	unsigned events =
		(what & CURL_POLL_IN ? LOOP_READ : 0u) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);
	if (w) {
		loop_fd_events(w->fd, events);
		return 0;
	}
	w = NEW(struct watch);
	w->http = h;
	w->fd = loop_fd_new(h->loop, fd, events, http_client_on_fd, w);
	curl_multi_assign(h->multi, fd, w);
	return 0;
}

static void http_client_on_timer(void *self)
{
	http_client_drive(self, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wish(CURLM *multi, long ms, void *self)
{
	struct http *h = self;
	(void)multi;
	if (ms < 0)
		loop_timer_stop(h->timer);
	else
		loop_timer_set(h->timer, (uint64_t)ms, 0);
	return 0;
}

/* --- limits ----------------------------------------------------------------------------------- */

static int64_t http_client_limit(int64_t wish, int64_t dflt)
{
	return wish < 0 ? INT64_MAX : wish ? wish : dflt;
}

static const char http_client_total[] = "the complete answer took longer than";

/* When the next limit runs out, and its name. */
static int64_t http_client_due(const struct http_call *c, const char **what)
{
	int64_t at = INT64_MAX;
	if (c->total_us < INT64_MAX) {
		at = c->sent_us + c->total_us;
		*what = http_client_total;
	}
	bool waiting = c->first_at_us < 0;
	int64_t us = waiting ? c->first_us : c->idle_us;
	if (us < INT64_MAX && !c->paused && c->last_us + us < at) {
		at = c->last_us + us;
		*what = waiting ? "no answer within" : "nothing more came for";
	}
	return at;
}

static void http_client_arm(struct http_call *c)
{
	const char *what;
	int64_t at = http_client_due(c, &what), in = at - http_client_now_us(c->http);
	if (at == INT64_MAX)
		loop_timer_stop(c->timer);
	else
		loop_timer_set(c->timer, in <= 0 ? 0 : (uint64_t)(in / 1000) + 1, 0);
}

static void http_client_touch(struct http_call *c)
{
	c->last_us = http_client_now_us(c->http);
	if (c->first_at_us >= 0)
		return;
	c->first_at_us = c->last_us;
	http_client_arm(c); /* from now on the shorter limit counts */
}

/* A server that sends a byte now and then keeps a connection open, but gets nowhere. */
static void touch_body(struct http_call *c, const char *data, size_t len)
{
	enum { CRUMBS_MAX = 1024 };
	c->crumbs += len;
	if (c->lines && c->first_at_us >= 0 && c->crumbs < CRUMBS_MAX && !memchr(data, '\n', len))
		return;
	c->crumbs = 0;
	http_client_touch(c);
}

/* --- an answer -------------------------------------------------------------------------------- */

static void forget_head(struct http_call *c)
{
	buf_reset(&c->head_text);
	c->nr_header = 0;
}

/* Lines are kept as "name\0value\0"; addresses are taken when the head is whole, because the buffer
 * moves. */
static void take_header(struct http_call *c, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	if (!colon)
		return;
	for (const char *p = line; p < colon; p++)
		buf_putc(&c->head_text, (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
	buf_putc(&c->head_text, 0);
	const char *v = colon + 1, *end = line + len;
	while (v < end && (*v == ' ' || *v == '\t'))
		v++;
	while (end > v && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
		end--;
	buf_append(&c->head_text, v, (size_t)(end - v));
	buf_putc(&c->head_text, 0);
	c->nr_header++;
}

static const struct http_header *lines_taken(struct http_call *c)
{
	c->header = mem_realloc(c->header, (c->nr_header + 1) * sizeof *c->header);
	const char *p = buf_cstr(&c->head_text);
	for (size_t i = 0; i < c->nr_header; i++) {
		c->header[i].name = p;
		p += strlen(p) + 1;
		c->header[i].value = p;
		p += strlen(p) + 1;
	}
	return c->header;
}

static void tell_head(struct http_call *c)
{
	if (c->head_told)
		return;
	c->head_told = true;
	struct http_head head = { .status = c->status,
				  .header = lines_taken(c),
				  .nr = c->nr_header };
	if (c->handler.head)
		c->handler.head(c->handler.self, &head);
	forget_head(c); /* what is taken from here on are trailers */
}

static size_t on_header(char *data, size_t one, size_t len, void *self)
{
	struct http_call *c = self;
	(void)one;
	if (c->dead)
		return 0;
	http_client_touch(c);
	if (len > 5 && memcmp(data, "HTTP/", 5) == 0) { /* a new head: after 100, or of a proxy */
		long status = 0;
		forget_head(c);
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		c->status = (int)status;
		return len;
	}
	if (c->head_text.len + len > HEAD_MAX)
		return 0;
	if (len > 2 || (len && data[0] != '\r' && data[0] != '\n')) {
		take_header(c, data, len);
	} else if (c->status >= 200) {
		tell_head(c);
	}
	return c->dead ? 0 : len;
}

static size_t on_body(char *data, size_t one, size_t len, void *self)
{
	struct http_call *c = self;
	(void)one;
	if (c->dead)
		return 0;
	touch_body(c, data, len);
	tell_head(c);
	if (c->paused) /* head() may have paused */
		return CURL_WRITEFUNC_PAUSE;
	if (!c->dead && len) {
		c->bytes += len;
		c->handler.data(c->handler.self, data, len);
	}
	return c->dead ? 0 : len;
}

/* --- limits that ran out ---------------------------------------------------------------------- */

static void http_client_finish(struct http_call *c, CURLcode code);

static void http_client_on_limit(void *self)
{
	struct http_call *c = self;
	const char *what = "";
	int64_t at = http_client_due(c, &what), now = http_client_now_us(c->http);
	if (at > now) {
		http_client_arm(c);
		return;
	}
	bool total = what == http_client_total;
	int64_t us = total ? c->total_us : c->first_at_us < 0 ? c->first_us : c->idle_us;
	struct buf text = BUF_INIT;
	buf_printf(&text, "%s %lld.%lld s", what, (long long)(us / 1000000),
		   (long long)(us / 100000 % 10));
	c->slow = buf_take(&text);
	http_client_finish(c, CURLE_OPERATION_TIMEDOUT);
	http_client_sweep(c->http);
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum http_how how_of(CURLcode code, const struct http_call *c)
{
	if (c->refused || (c->turned_down && code == CURLE_COULDNT_CONNECT))
		return HTTP_REFUSED;
	if (c->slow)
		return HTTP_SLOW;
	/* The codes of libcurl are many; these are the ones that say what to do. */
	switch ((int)code) {
	case CURLE_OK:
		return HTTP_OK;
	case CURLE_URL_MALFORMAT:
	case CURLE_BAD_FUNCTION_ARGUMENT:
		return HTTP_REFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT: /* only the connect time-out is libcurl's */
		return HTTP_UNREACHED;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
		return HTTP_TLS;
	default:
		return HTTP_CUT;
	}
}

/* Takes the call out of libcurl; the sweep reports its end. */
static void http_client_finish(struct http_call *c, CURLcode code)
{
	if (c->over)
		return;
	c->over = true;
	loop_timer_stop(c->timer);
	if (c->dead)
		return;
	long conns = 1;
	const char *text = c->slow	  ? c->slow
			   : c->held_back ? "the connection died before the answer began"
			   : c->fail[0]	  ? c->fail
					  : curl_easy_strerror(code);
	curl_easy_getinfo(c->easy, CURLINFO_NUM_CONNECTS, &conns);
	struct http_end end = {
		.how = how_of(code, c),
		.status = c->status,
		.bytes = c->bytes,
		.first_us = c->first_at_us < 0 ? -1 : c->first_at_us - c->sent_us,
		.total_us = http_client_now_us(c->http) - c->sent_us,
		.reused = conns == 0,
		.text = code == CURLE_OK && !c->refused ? "" : text,
	};
	if (end.how == HTTP_OK)
		tell_head(c);
	if (c->head_told) {
		end.trailer = lines_taken(c);
		end.nr_trailers = c->nr_header;
	}
	if (!c->dead)
		c->handler.end(c->handler.self, &end);
	c->dead = true;
}

static void http_client_on_done(struct http_transfer *t, CURLcode code)
{
	http_client_finish(CONTAINER_OF(t, struct http_call, transfer), code);
}

static void http_client_check(struct http *h)
{
	int left = 0;
	CURLMsg *m;
	while ((m = curl_multi_info_read(h->multi, &left)))
		if (m->msg == CURLMSG_DONE) {
			struct http_transfer *t = NULL;
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
			/* m is gone with the next call into libcurl */
			CURLcode code = m->data.result;
			t->done(t, code);
		}
	http_client_sweep(h);
}

static void http_client_wipe(struct curl_slist *list)
{
	for (struct curl_slist *s = list; s; s = s->next)
		explicit_bzero(s->data, strlen(s->data));
	curl_slist_free_all(list);
}

static void http_client_call_free(struct http_call *c)
{
	curl_multi_remove_handle(c->http->multi, c->easy);
	curl_easy_cleanup(c->easy);
	http_client_wipe(c->headers);
	loop_timer_free(&c->timer);
	buf_release(&c->body);
	buf_release(&c->head_text);
	free(c->header);
	free(c->slow);
	c->http->nr_open--;
	free(c);
}

static void http_client_sweep(void *self)
{
	struct http *h = self;
	if (h->inside)
		return; /* http_client_drive() comes by again */
	for (struct http_call **p = &h->calls; *p;) {
		struct http_call *c = *p;
		if (!c->dead) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		h->inside = true;
		http_client_call_free(c);
		h->inside = false;
	}
}

void http_cancel(struct http_call **call)
{
	struct http_call *c = *call;
	*call = NULL;
	if (!c || c->dead)
		return;
	c->dead = true;
	loop_timer_stop(c->timer);
	loop_timer_set(c->http->later, 0, 0);
}

void http_pause(struct http_call *c, bool paused)
{
	if (c->paused == paused || c->dead)
		return;
	c->paused = paused;
	if (!paused)
		c->last_us = http_client_now_us(c->http);
	http_client_arm(c);
	if (paused)
		return; /* the next data returns the pause to libcurl */
	bool was = c->http->inside;
	c->http->inside = true;
	curl_easy_pause(c->easy, CURLPAUSE_CONT);
	c->http->inside = was;
}

/* --- requests --------------------------------------------------------------------------------- */

static void set_callbacks(struct http_call *c)
{
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, (char *)&c->transfer);
	curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->fail);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
}

static void http_client_on_later(void *self)
{
	struct http *h = self;
	for (struct http_call *c = h->calls; c; c = c->next)
		if (c->refused && !c->over)
			http_client_finish(c, CURLE_URL_MALFORMAT);
	http_client_sweep(h);
}

struct http_call *http_send(struct http *h, const struct http_request *r,
			    const struct http_handler *handler)
{
	struct http_call *c = NEW(struct http_call);
	c->transfer.done = http_client_on_done;
	c->http = h;
	c->handler = *handler;
	c->easy = curl_easy_init();
	c->timer = loop_timer_new(h->loop, http_client_on_limit, c);
	c->sent_us = c->last_us = http_client_now_us(h);
	c->first_at_us = -1;
	c->first_us = http_client_limit(r->first_us, FIRST_US);
	c->idle_us = http_client_limit(r->idle_us, IDLE_US);
	c->lines = r->lines;
	c->total_us = http_client_limit(r->total_us, INT64_MAX);
	http_call_options(c, r);
	set_callbacks(c);
	int64_t connect = http_client_limit(r->connect_us, CONNECT_US);
	if (connect < INT64_MAX)
		curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS,
				 (long)(connect / 1000 ? connect / 1000 : 1));
	c->next = h->calls;
	h->calls = c;
	h->nr_open++;
	if (strncmp(r->url, "http://", 7) != 0 && strncmp(r->url, "https://", 8) != 0) {
		c->refused = true;
		snprintf(c->fail, sizeof c->fail, "not an http or https address");
		loop_timer_set(h->later, 0, 0);
		return c;
	}
	bool was = h->inside;
	h->inside = true;
	/* begins by the timer, so nothing is called from here */
	curl_multi_add_handle(h->multi, c->easy);
	h->inside = was;
	http_client_arm(c);
	return c;
}

/* --- the client ------------------------------------------------------------------------------- */

static char *http_client_copy_of(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

static const char *ca_of_environment(void)
{
	const char *v = getenv("SSL_CERT_FILE");
	if (!v || !*v)
		v = getenv("CURL_CA_BUNDLE");
	return v && *v ? v : NULL;
}

int http_new(struct http **out, struct loop *loop, const struct http_settings *settings,
	     struct err *err)
{
	static const struct http_settings none = { 0 };
	const struct http_settings *set = settings ? settings : &none;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, ERR_UNSUPPORTED, "can't start libcurl");
	CURLM *multi = curl_multi_init();
	if (!multi)
		return err_set(err, ERR_UNSUPPORTED, "can't start libcurl");
	struct http *h = NEW(struct http);
	h->loop = loop;
	h->multi = multi;
	h->timer = loop_timer_new(loop, http_client_on_timer, h);
	h->later = loop_timer_new(loop, http_client_on_later, h);
	h->ca_file = http_client_copy_of(set->ca_file ? set->ca_file : ca_of_environment());
	h->proxy = http_client_copy_of(set->proxy);
	h->agent = mem_strdup(set->agent ? set->agent : "sandglass/" SANDGLASS_VERSION);
	h->http1 = set->http1;
	long most = set->host_connections ? set->host_connections : HOST_CONNECTIONS;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, http_client_on_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, h);
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, most);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, most);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	*out = h;
	return 0;
}

void http_free(struct http **hp)
{
	struct http *h = *hp;
	*hp = NULL;
	if (!h)
		return;
	for (struct http_call *c = h->calls; c; c = c->next)
		c->dead = true;
	http_client_sweep(h);
	/* closes the idle connections: on_socket frees their watches */
	curl_multi_cleanup(h->multi);
	loop_timer_free(&h->timer);
	loop_timer_free(&h->later);
	free(h->ca_file);
	free(h->proxy);
	free(h->agent);
	free(h);
}

const char *http_header(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->nr; i++)
		if (strcmp(head->header[i].name, name) == 0)
			return head->header[i].value;
	return NULL;
}

size_t http_open_calls(const struct http *h)
{
	return h->nr_open;
}

struct loop *http_loop(const struct http *h)
{
	return h->loop;
}
