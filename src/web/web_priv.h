/* Between the files of the web: web.c has the ops, web_get.c the request, web_place.c where it may
 * go, web_results.c what a search has found. */
#ifndef WEB_WEB_PRIV_H
#define WEB_WEB_PRIV_H

#include "web/web.h"
#include "http/client.h"
#include "http/url.h"

struct web {
	struct super *super;
	struct http *http;
	struct effector effector;
	struct web_job *jobs;
};

/* --- web_get.c --- */
void web_start(void *self, struct action *a);
void web_cancel(void *self, struct action *a, const char *how);
void web_jobs_free(struct web *w);

/* --- web_place.c --- */
/* Is it a name or an address of the host or its networks, by what it says itself? */
bool place_is_private(const char *host);
struct sockaddr;
bool place_is_open(const struct sockaddr *addr);
/* Of the environment: the proxy for @u, or "" when there is none. Borrowed. */
const char *place_proxy(const struct url *u);
/* Has an allow rule that names the host let @a go, or a user who saw it? */
bool place_allowed(const struct action *a, const char *host);

/* --- web_results.c --- */
/* @conf: settings "search". Where the search for @query goes: url, method, body, headers of the
 * action's args; owned. ERR_INVALID with what the settings lack. */
json_t *search_request(const json_t *conf, const char *query, int64_t page, struct err *err);
/* [{"title","url","text"}] of an answer. Returns owned; NULL with @err when it is not of the
 * shape. */
json_t *search_results(const json_t *conf, const char *bytes, size_t len, size_t most,
		       struct err *err);
void search_text(const json_t *results, struct buf *out);

#endif
