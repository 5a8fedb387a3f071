/* The table of drivers (drivers.def), and what finds one. */
#include <string.h>

#include "sandbox/driver.h"

/* Declared by name, so that the core includes no backend. */
#define DRIVER(name) extern const struct driver driver_##name;
#include "sandbox/drivers.def"
#undef DRIVER

static const struct driver *const drivers_table[] = {
#define DRIVER(name) &driver_##name,
#include "sandbox/drivers.def"
#undef DRIVER
};

static driver_finder *drivers_more;
static void *more_self;

void driver_more(driver_finder *find, void *self)
{
	drivers_more = find;
	more_self = self;
}

struct box *driver_open(const struct driver *d, struct loop *l, const struct box_opts *o,
			box_done_fn *done, void *self)
{
	return d->open_as ? d->open_as(d, l, o, done, self) : d->open(l, o, done, self);
}

const struct driver *driver_at(size_t i)
{
	return i < ARRAY_LEN(drivers_table) ? drivers_table[i] : NULL;
}

const struct driver *driver_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers_table); i++)
		if (strcmp(drivers_table[i]->name, name) == 0)
			return drivers_table[i];
	return drivers_more ? drivers_more(more_self, name) : NULL;
}
