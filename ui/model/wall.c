#include "ui/model/wall.h"

#include <string.h>

const char *wall_words(const char *profile)
{
	return strcmp(profile, "none") == 0 ? "NO ISOLATION" : profile;
}

bool wall_none(const struct model_box *b)
{
	return b && strcmp(b->profile, "none") == 0;
}

/* Commands of these are on a machine with a network of its own. */
const char *wall_net(const struct model_box *b)
{
	return wall_none(b) || strcmp(b->driver, "ssh") == 0 || strcmp(b->driver, "host") == 0
		       ? "open"
		       : "none";
}
