#include "record/archive_reach.h"

#include <dirent.h>
#include <string.h>

#include "base/err.h"

/* used-by, or a YEAR */
static bool archive_entry(const char *name)
{
	return !strcmp(name, "used-by") || (strlen(name) == 4 && strspn(name, "0123456789") == 4);
}

int archive_reach(const char *place, struct err *err)
{
	DIR *d = opendir(place);
	struct dirent *e;
	bool found = false;
	if (!d)
		return err_sys(err, "archive '%s' is out of reach", place);
	while (!found && (e = readdir(d)))
		found = archive_entry(e->d_name);
	closedir(d);
	return found ? 0
		     : err_set(err, ERR_NOENT,
			       "archive '%s' is out of reach: the directory is empty, nothing is "
			       "mounted there",
			       place);
}
