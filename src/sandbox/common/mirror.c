#include "sandbox/common/mirror.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/driver.h"
#include "sandbox/common/mirror_priv.h"

static struct mirror *mirror_mirrors;

/* --- from a worker to the loop and back --- */

static void mirror_on_answer(void *self, const char *out, size_t len, const struct err *err)
{
	struct mirror *m = self;
	pthread_mutex_lock(&m->lock);
	struct call *c = m->call;
	if (c && !c->done) {
		if (err)
			c->err = *err;
		else
			buf_append(&c->out, out, len);
		c->done = true;
		pthread_cond_signal(&m->answered);
	}
	pthread_mutex_unlock(&m->lock);
}

static void on_wake(void *self)
{
	struct mirror *m = self;
	pthread_mutex_lock(&m->lock);
	struct call *c = m->call && !m->call->sent && !m->call->done ? m->call : NULL;
	if (c)
		c->sent = true;
	pthread_mutex_unlock(&m->lock);
	if (c)
		m->o.run(m->o.self, c->arg, c->in, c->len, mirror_on_answer, m);
}

/* Appends the answer to @out, which may be NULL. */
int mirror_request(struct mirror *m, const char *verb, const void *in, size_t len, struct buf *out,
		   struct err *err)
{
	char *const arg[] = { (char *)(uintptr_t)verb, m->far_root, NULL };
	struct call c = { .arg = arg, .in = in, .len = len };
	pthread_mutex_lock(&m->lock);
	if (m->over)
		err_set(&c.err, ERR_CLOSED, "the sandbox has ended");
	else {
		m->call = &c;
		loop_wake_send(m->wake);
		while (!c.done)
			pthread_cond_wait(&m->answered, &m->lock);
		m->call = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	if (c.err.code)
		*err = c.err;
	else if (out)
		buf_append(out, c.out.data, c.out.len);
	buf_release(&c.out);
	return c.err.code ? -1 : 0;
}

/* --- what comes unasked --- */

/* With the lock. */
static void news_end(struct mirror *m)
{
	m->news.state = NEWS_NONE;
	buf_release(&m->news.bytes);
	pthread_cond_signal(&m->answered);
}

unsigned mirror_news(struct mirror *m, struct strv *words)
{
	unsigned nr = 0;
	pthread_mutex_lock(&m->lock);
	if (!m->over && m->news.known.len == 8) {
		CLEANUP(buf_release) struct buf digest = BUF_INIT;
		CLEANUP(free_ptr)
		char *since = mem_printf("%llu", (unsigned long long)m->news.newest);
		CLEANUP(free_ptr) char *most = mem_printf("%d", NEWS_MAX);
		m->news.nr += m->news.nr == UINT_MAX ? 2 : 1; /* never 0 */
		nr = m->news.nr;
		news_end(m); /* a caller that waits for older news asks itself */
		m->news.state = NEWS_ASKED;
		memcpy(m->news.digest, m->news.known.data, 8);
		hex_append(&digest, m->news.digest, 8);
		const char *const all[] = { "news", m->far_root, buf_cstr(&digest), since, most };
		for (size_t i = 0; i < ARRAY_LEN(all); i++)
			strv_push(words, all[i]);
	}
	pthread_mutex_unlock(&m->lock);
	return nr;
}

void mirror_news_came(struct mirror *m, unsigned nr, const char *out, size_t len,
		      const struct err *err)
{
	pthread_mutex_lock(&m->lock);
	if (nr == m->news.nr && (m->news.state == NEWS_ASKED || m->news.state == NEWS_DUE)) {
		news_end(m);
		if (!err && len >= 8 && len <= NEWS_MAX + 4096) {
			m->news.state = NEWS_HERE;
			buf_append(&m->news.bytes, out, len);
		}
	}
	pthread_mutex_unlock(&m->lock);
}

void mirror_stirred(struct mirror *m, unsigned nr)
{
	pthread_mutex_lock(&m->lock);
	if (nr != m->news.nr)
		news_end(m);
	else if (m->news.state == NEWS_ASKED)
		m->news.state = NEWS_DUE;
	pthread_mutex_unlock(&m->lock);
}

/* With the lock: until the news of a command that has ended are here or will not come. One that
 * still runs is not waited for. */
static void mirror_wait_for_news(struct mirror *m)
{
	struct timespec until;
	int rc = clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += NEWS_WAIT_S;
	while (rc == 0 && m->news.state == NEWS_DUE && !m->over)
		rc = pthread_cond_clockwait(&m->answered, &m->lock, CLOCK_MONOTONIC, &until);
}

/* Takes the received news, or drops them. */
bool mirror_take_news(struct mirror *m, bool ended, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	if (ended)
		mirror_wait_for_news(m);
	bool good = ended && m->news.state == NEWS_HERE && m->far.digest.len == 8 &&
		    !memcmp(m->news.digest, m->far.digest.data, 8);
	if (good) {
		*out = m->news.bytes;
		m->news.bytes = BUF_INIT;
	}
	news_end(m);
	pthread_mutex_unlock(&m->lock);
	return good;
}

/* --- what we have written there --- */

bool mirror_put_pays(size_t len)
{
	return len >= PUT_LEAST;
}

static void puts_free(struct mirror_put *item, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(item[i].path);
		buf_release(&item[i].bytes);
	}
	free(item);
}

/* With the lock. */
static void put_drop(struct mirror *m, size_t i)
{
	struct mirror_put *p = &m->puts.item[i];
	m->puts.bytes -= p->bytes.len;
	free(p->path);
	buf_release(&p->bytes);
	memmove(p, p + 1, (--m->puts.nr - i) * sizeof(*p));
}

void mirror_put(struct mirror *m, const char *path, struct buf *bytes)
{
	struct buf mine = *bytes;
	*bytes = BUF_INIT;
	pthread_mutex_lock(&m->lock);
	for (size_t i = m->puts.nr; i-- > 0;)
		if (strcmp(m->puts.item[i].path, path) == 0)
			put_drop(m, i);
	if (mirror_put_pays(mine.len) && !m->over) {
		GROW(m->puts.item, m->puts.nr, m->puts.cap);
		m->puts.item[m->puts.nr++] = (struct mirror_put){ mem_strdup(path), mine };
		m->puts.bytes += mine.len;
		mine = BUF_INIT;
	}
	while (m->puts.nr > PUTS || m->puts.bytes > PUT_MOST)
		put_drop(m, 0);
	pthread_mutex_unlock(&m->lock);
	buf_release(&mine);
}

/* Forgets entries that differ over there, or are not news. */
void take_puts(struct mirror *m, struct mirror_news *c)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
	struct err none = ERR_INIT;
	pthread_mutex_lock(&m->lock);
	struct mirror_put *item = m->puts.item;
	size_t nr = m->puts.nr;
	m->puts.item = NULL;
	m->puts.nr = m->puts.cap = 0;
	m->puts.bytes = 0;
	pthread_mutex_unlock(&m->lock);
	mirror_ask_sums(c, item, nr, &in);
	if (in.len && mirror_request(m, "sum", in.data, in.len, &out, &none) == 0)
		mirror_take_sums(c, item, nr, &out);
	puts_free(item, nr);
}

/* @m->far is new. */
void mirror_remember(struct mirror *m)
{
	uint64_t newest = 0;
	for (size_t i = 0; i < m->far.nr; i++)
		newest = m->far.item[i].ctime_ns > newest ? m->far.item[i].ctime_ns : newest;
	pthread_mutex_lock(&m->lock);
	buf_reset(&m->news.known);
	buf_append(&m->news.known, m->far.digest.data, m->far.digest.len);
	m->news.newest = newest;
	pthread_mutex_unlock(&m->lock);
}

/* The program ends while a worker waits for a far side that does not answer: the loop no longer
 * runs. */
static void at_exit(void)
{
	for (struct mirror *m = mirror_mirrors; m; m = m->next)
		mirror_over(m);
}

struct mirror *mirror_new(const struct mirror_opts *o)
{
	static bool known;
	struct mirror *m = NEW(struct mirror);
	if (!known)
		known = atexit(at_exit) == 0;
	*m = (struct mirror){ .next = mirror_mirrors,
			      .loop = o->loop,
			      .o = *o,
			      .far_root = mem_strdup(o->far_root) };
	mirror_mirrors = m;
	m->wake = loop_wake_new(o->loop, on_wake, m);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->answered, NULL);
	return m;
}

void mirror_over(struct mirror *m)
{
	struct err err = ERR_INIT;
	if (!m)
		return;
	err_set(&err, ERR_CLOSED, "the sandbox has ended");
	pthread_mutex_lock(&m->lock);
	m->over = true;
	news_end(m);
	pthread_mutex_unlock(&m->lock);
	mirror_on_answer(m, NULL, 0, &err);
}

void mirror_free(struct mirror **mp)
{
	struct mirror *m = take(mp);
	if (!m)
		return;
	for (struct mirror **at = &mirror_mirrors; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	loop_wake_free(&m->wake);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->answered);
	listing_release(&m->far);
	puts_free(m->puts.item, m->puts.nr);
	buf_release(&m->news.bytes);
	buf_release(&m->news.known);
	free(m->far_root);
	free(m);
}

void mirror_answer(const char *out, size_t len, int code, int signal, const char *said,
		   mirror_done_fn *done, void *self)
{
	struct err err = ERR_INIT;
	if (len && out[0] == 0 && code == 0 && signal == 0) {
		done(self, out + 1, len - 1, NULL);
		return;
	}
	if (len > 1 && out[0] > 0 && out[0] <= ERR_SCRIPT)
		err_set(&err, (enum err_code)out[0], "%.*s", (int)(len - 1 < 400 ? len - 1 : 400),
			out + 1);
	else if (said && *said)
		err_set(&err, ERR_IO, "the guest program in the sandbox failed: %.*s",
			(int)strcspn(said, "\r\n"), said);
	else
		err_set(&err, ERR_IO, "the guest program in the sandbox ended with %s %d",
			signal ? "signal" : "exit code", signal ? signal : code);
	done(self, NULL, 0, &err);
}
