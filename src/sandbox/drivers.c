/* The table of drivers: one row each. */
#include <string.h>

#include "sandbox/driver.h"
#include "sandbox/container.h"
#include "sandbox/process.h"

static const struct driver *const drivers[] = {
	&driver_process,
	&driver_container,
};

const struct driver *driver_at(size_t i)
{
	return i < ARRAY_LEN(drivers) ? drivers[i] : NULL;
}

const struct driver *driver_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	return NULL;
}
