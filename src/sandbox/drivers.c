/* The table of drivers: one row each. */
#include <string.h>

#include "sandbox/driver.h"
#include "sandbox/container/container.h"
#include "sandbox/stream/host.h"
#include "sandbox/process/process.h"
#include "sandbox/pyodide/pyodide.h"
#include "sandbox/hosted/hosted.h"
#include "sandbox/stream/ssh.h"
#include "sandbox/vm/vm.h"

static const struct driver *const drivers_table[] = {
	&driver_process, &driver_container, &driver_vm, &driver_ssh, &driver_pyodide, &driver_host,
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
