/* The web for scripts and agents (ops host.fetch, host.search): pages fetched by the supervisor,
 * outside every sandbox.
 *
 * 1. Each request is an action of kind fetch with a policy check, named web_fetch or web_search,
 *    with host, port, and in its args url and method, for rules to match. The caller gets only
 *    text.
 * 2. A redirect ends its action. Its target is a new action, caused by the first, with its own
 *    policy check. Headers of the script go only to the origin that they were given for. At most
 *    REDIRECTS_MAX.
 * 3. Addresses outside the open internet (the host, its networks, link-local ones such as those of
 *    metadata services) are refused at the connection, whatever the name. Exceptions: an allow rule
 *    names the host, a user has approved an address in numeric form, or the user's configuration
 *    names it (search).
 * 4. The answer's bytes are recorded up to a limit (stream response), and so is the text made from
 *    them (stream out): HTML becomes text (base/text/html.h). Compression is not requested.
 * 5. The text is untrusted content: after it the agent is tainted.
 * Loop thread only. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "supervisor/core/core.h"

void op_host_fetch(struct call *c);
void op_host_search(struct call *c);
void web_free(struct super *s);

enum { REDIRECTS_MAX = 5, WEB_BYTES = 5 << 20, WEB_TEXT = 256 << 10 };

#endif
