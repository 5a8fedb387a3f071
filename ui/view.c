#include "ui/view.h"

#include <string.h>

#define VIEW(name, text) extern const struct view_ops view_##name;
#include "ui/views.def"
#undef VIEW

static const struct view_ops *const views[] = {
#define VIEW(name, text) &view_##name,
#include "ui/views.def"
#undef VIEW
};

size_t view_count(void)
{
	return ARRAY_LEN(views);
}

const struct view_ops *view_at(size_t i)
{
	return views[i];
}

const struct view_ops *view_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		if (strcmp(views[i]->name, name) == 0)
			return views[i];
	return NULL;
}
