/* The web for scripts and agents (ops host.fetch, host.search): pages fetched by the supervisor,
 * outside of every box.
 *
 *  1. Each request is an action of kind fetch through the gate, named web_fetch or web_search, with
 *  host, port and in its
 *     args url and method, for rules to match. Who asks gets nothing but text.
 *  2. A redirect is not followed: it ends its action, and where it leads is a new one, caused by
 *  the first, judged anew.
 *     Headers of the script go to the origin that they were meant for and to no other. At most
 *     REDIRECTS_MAX.
 *  3. Addresses that are not of the open internet (this machine, its networks, link-local ones such
 *  as those of metadata
 *     services) are refused when the connection is made, whatever name led there, unless an allow
 *     rule names the host, a
 *     person has said yes to an address that says openly what it is, or the user's configuration
 *     names it (search).
 *  4. The answer's bytes are recorded up to a limit (stream response), and what was made of them
 *  (stream out): HTML becomes
 *     text (base/text/html.h). Compression is not asked for.
 *  5. What came in may be anybody's words: from then on the agent is tainted.
 * Loop thread only. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "supervisor/core/core.h"

void op_host_fetch(struct call *c);
void op_host_search(struct call *c);
void web_free(struct super *s);

enum { REDIRECTS_MAX = 5, WEB_BYTES = 5 << 20, WEB_TEXT = 256 << 10 };

#endif
