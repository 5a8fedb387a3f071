#include "suite/apart.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

void apart_environment(const char *dir, struct strv *out)
{
	CLEANUP(free_ptr) char *data = mem_printf("XDG_DATA_HOME=%s/data", dir);
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "XDG_DATA_HOME=", 14) != 0 &&
		    strncmp(*e, "SANDGLASS_SESSIONS=", 19) != 0)
			strv_push(out, *e);
	strv_push(out, data);
}
