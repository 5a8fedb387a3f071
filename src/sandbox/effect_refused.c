/* Part of effect.h: connections that were refused or cut while a command ran. */
#include <string.h>

#include "base/mem.h"
#include "sandbox/effect_priv.h"

enum { REFUSED_MOST = 20 }; /* named per command; the connections themselves are all recorded */

static bool effect_refused_known(const json_t *list, const char *host, unsigned port,
				 const char *why)
{
	size_t i;
	const json_t *one;
	json_array_foreach(list, i, one)
	{
		if (json_int(one, "port", 0) == port && !strcmp(json_str(one, "host", ""), host) &&
		    !strcmp(json_str(one, "why", ""), why))
			return true;
	}
	return false;
}

static void effect_refused_add(struct job *j, const char *host, unsigned port, const char *why)
{
	j->refused = j->refused ? j->refused : json_array();
	if (effect_refused_known(j->refused, host, port, why))
		return;
	if (json_array_size(j->refused) >= REFUSED_MOST) {
		j->refused_more++;
		return;
	}
	json_t *one = json_object();
	json_put_str(one, "host", host);
	json_put_int(one, "port", port);
	json_put_str(one, "why", why);
	json_array_append_new(j->refused, one);
}

void boxes_refused(struct boxes *b, uint64_t box, uint64_t within, const char *host, unsigned port,
		   const char *why)
{
	struct slot *s = slot_find(b, box);
	for (struct job *j = s ? s->jobs : NULL; j; j = j->next)
		if (action_state(j->action) == ACTION_RUNNING &&
		    (!within || action_id(j->action) == within))
			effect_refused_add(j, host, port, why);
}
