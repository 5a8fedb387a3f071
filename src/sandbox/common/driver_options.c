#include "sandbox/common/driver_options.h"

#include <string.h>

static bool driver_options_has(const char *list, const char *name)
{
	size_t len = strlen(name);
	for (const char *p = list; *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ",");
		if (n == len && !memcmp(p, name, n))
			return true;
		p += n;
	}
	return false;
}

int driver_options_check(const struct box_opts *o, const char *backend, const char *known,
			 const char *more, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(o->driver, name, value)
	{
		if (!driver_options_has(known, name) && !driver_options_has(more, name))
			return err_set(err, ERR_INVALID,
				       "backend %s: unknown option '%.60s'; known: %s", backend,
				       name, known);
	}
	return 0;
}
