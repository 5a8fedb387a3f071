#include "ui/frame/view.h"

#include <string.h>

#define VIEW(name, text) extern const struct view_ops view_##name;
#include "ui/frame/views.def"
#undef VIEW

static const struct view_ops *const ui_view_views[] = {
#define VIEW(name, text) &view_##name,
#include "ui/frame/views.def"
#undef VIEW
};

size_t view_count(void)
{
	return ARRAY_LEN(ui_view_views);
}

const struct view_ops *view_at(size_t i)
{
	return ui_view_views[i];
}

const struct view_ops *view_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ui_view_views); i++)
		if (strcmp(ui_view_views[i]->name, name) == 0)
			return ui_view_views[i];
	return NULL;
}
