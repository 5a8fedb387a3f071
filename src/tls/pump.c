#include "tls/pump.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

/* How long a program may take: for the handshake, to read something, to close after the end. */
enum { SIDE_MAX = 64 << 10, SHAKE_US = 10000000, TAKE_US = 60000000, LINGER_US = 2000000 };

struct pump {
	uint64_t id;
	SSL *ssl;
	char *host;
	int tls, plain;
	struct buf up, down;	 /* decrypted, not yet written; plain, not yet encrypted */
	bool ready;		 /* the handshake is done */
	bool tls_wants_write;	 /* the last call of the library waits for room in the socket */
	bool up_eof, down_eof;	 /* nothing more comes from the sandbox, from the supervisor */
	bool up_shut, down_shut; /* passed on */
	bool up_lost;		 /* the supervisor reads no more: what still comes is dropped */
	bool failed;
	int64_t close_us; /* when it is closed although the sandbox hasn't; 0: no limit */
};

/* --- shared ----------------------------------------------------------------------------------- */

static int pump_choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *len,
				const unsigned char *offered, unsigned nr, void *self)
{
	static const unsigned char ours[] = "\x08http/1.1";
	(void)ssl, (void)self;
	unsigned char *chosen;
	if (SSL_select_next_proto(&chosen, len, ours, sizeof(ours) - 1, offered, nr) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* A name in the handshake is that of the host that was asked for. */
static int pump_check_name(SSL *ssl, int *alert, void *self)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	const struct pump *p = SSL_get_app_data(ssl);
	(void)self;
	if (!name || strcasecmp(name, p->host) == 0)
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int pump_context(SSL_CTX **out, struct err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	*out = ctx;
	if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
		return err_set(err, ERR_UNSUPPORTED, "can't set up TLS");
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
					 SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ctx, pump_choose_protocol, NULL);
	SSL_CTX_set_tlsext_servername_callback(ctx, pump_check_name);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

int pump_new(struct pump **out, SSL_CTX *ctx, struct authority *a, uint64_t id, const char *host,
	     int tls, int plain, struct err *err)
{
	struct pump *p = NEW(struct pump);
	p->id = id;
	p->host = mem_strdup(host);
	p->tls = tls;
	p->plain = plain;
	p->ssl = SSL_new(ctx);
	p->close_us = clock_awake_us() + SHAKE_US;
	*out = p;
	if (p->ssl && authority_sign(a, p->ssl, host, err) == 0 && SSL_set_fd(p->ssl, tls) == 1) {
		SSL_set_app_data(p->ssl, p);
		SSL_set_accept_state(p->ssl);
		return 0;
	}
	pump_free(out);
	return err->code ? -1 : err_set(err, ERR_UNSUPPORTED, "can't set up a connection");
}

void pump_free(struct pump **pp)
{
	struct pump *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	SSL_free(p->ssl);
	fd_close(&p->tls);
	fd_close(&p->plain);
	buf_release(&p->up);
	buf_release(&p->down);
	free(p->host);
	free(p);
}

uint64_t pump_id(const struct pump *p)
{
	return p->id;
}

void pump_wants(const struct pump *p, struct pollfd *tls, struct pollfd *plain)
{
	bool in = !p->ready || (!p->up_eof && p->up.len < SIDE_MAX);
	bool out = p->tls_wants_write || (p->ready && p->down.len);
	short plain_in = p->ready && !p->down_eof && p->down.len < SIDE_MAX ? POLLIN : 0;
	short plain_out = p->up.len && !p->up_lost ? POLLOUT : 0;
	*tls = (struct pollfd){ .fd = in || out ? p->tls : -1,
				.events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0)) };
	*plain = (struct pollfd){ .fd = plain_in || plain_out ? p->plain : -1,
				  .events = (short)(plain_in | plain_out) };
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* The library's last call returned @rc. false: the connection failed. */
static bool pump_goes_on(struct pump *p, int rc)
{
	int why = SSL_get_error(p->ssl, rc);
	p->tls_wants_write = why == SSL_ERROR_WANT_WRITE;
	if (why == SSL_ERROR_ZERO_RETURN)
		p->up_eof = true;
	else if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
		p->failed = true;
	return !p->failed;
}

static void pump_from_sandbox(struct pump *p)
{
	while (!p->up_eof && !p->failed && p->up.len < SIDE_MAX) {
		buf_reserve(&p->up, SIDE_MAX);
		int n = SSL_read(p->ssl, p->up.data + p->up.len, SIDE_MAX);
		if (n <= 0) {
			pump_goes_on(p, n);
			return;
		}
		p->up.len += (size_t)n;
	}
}

static void pump_write(struct pump *p)
{
	while (p->down.len && !p->failed) {
		int n = SSL_write(p->ssl, p->down.data, (int)p->down.len);
		if (n <= 0) {
			pump_goes_on(p, n);
			return;
		}
		buf_drop(&p->down, (size_t)n);
	}
}

static void pump_to_sandbox(struct pump *p)
{
	size_t before = p->down.len;
	pump_write(p);
	if (!p->down_shut && (!p->close_us || p->down.len < before))
		p->close_us = p->down.len ? clock_awake_us() + TAKE_US : 0;
	if (p->down_eof && !p->down.len && !p->down_shut && !p->failed) {
		p->down_shut = true;
		SSL_shutdown(p->ssl);
		shutdown(p->tls, SHUT_WR);
		p->close_us = clock_awake_us() + LINGER_US;
	}
}

static void pump_from_supervisor(struct pump *p)
{
	if (p->down_eof || p->down.len >= SIDE_MAX)
		return;
	buf_reserve(&p->down, SIDE_MAX);
	ssize_t n = recv(p->plain, p->down.data + p->down.len, SIDE_MAX, MSG_DONTWAIT);
	if (n > 0)
		p->down.len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		p->down_eof = true;
}

static void pump_to_supervisor(struct pump *p)
{
	while (p->up.len) {
		ssize_t n = send(p->plain, p->up.data, p->up.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		p->up_lost |= n < 0;
		buf_drop(&p->up, n < 0 ? p->up.len : (size_t)n);
	}
	if (p->up_eof && !p->up_shut) {
		p->up_shut = true;
		shutdown(p->plain, SHUT_WR);
	}
}

/* The reason as the sandbox's program or the library gave it. */
static void pump_reason(const struct pump *p, struct err *err)
{
	unsigned long code = ERR_peek_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	bool untrusted =
		reason && (strstr(reason, "unknown ca") || strstr(reason, "bad certificate"));
	err_set(err, ERR_CLOSED, "TLS for %s: %s%s", p->host,
		reason ? reason : "the program closed the connection",
		untrusted ? " (the program doesn't trust the session's certificate)" : "");
}

bool pump_is_late(const struct pump *p)
{
	return p->close_us && clock_awake_us() >= p->close_us;
}

static bool pump_shake(struct pump *p, struct err *err)
{
	ERR_clear_error();
	int rc = SSL_do_handshake(p->ssl);
	if (rc == 1) {
		p->ready = true;
		p->tls_wants_write = false;
		p->close_us = 0;
		return true;
	}
	if (!pump_goes_on(p, rc) || p->up_eof)
		pump_reason(p, err);
	else if (pump_is_late(p))
		err_set(err, ERR_TIMEOUT, "TLS for %s: no handshake in time", p->host);
	else
		return true;
	return false;
}

bool pump_move(struct pump *p, struct err *err)
{
	if (!p->ready && !pump_shake(p, err))
		return false;
	if (!p->ready)
		return true;
	ERR_clear_error();
	p->tls_wants_write = false;
	pump_from_sandbox(p);
	pump_to_supervisor(p);
	pump_from_supervisor(p);
	pump_to_sandbox(p);
	return !p->failed && !(p->down_shut && p->up_eof) && !pump_is_late(p);
}

bool pump_limited(const struct pump *p)
{
	return p->close_us != 0;
}
