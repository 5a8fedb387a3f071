#include "supervisor/core/parts.h"

#include <stdlib.h>

#include "supervisor/core/core.h"

struct part_object {
	const struct super_part *part;
	void *object;
};

struct super_parts {
	struct part_object *item;
	size_t nr, cap;
};

struct super_parts *super_parts_new(void)
{
	return NEW(struct super_parts);
}

void *super_part(const struct super *s, const struct super_part *part)
{
	struct super_parts *all = s->parts;
	for (size_t i = 0; i < all->nr; i++)
		if (all->item[i].part == part)
			return all->item[i].object;
	GROW(all->item, all->nr, all->cap);
	void *object = mem_calloc(1, part->size);
	all->item[all->nr++] = (struct part_object){ part, object };
	return object;
}

void super_parts_free(struct super_parts **pp)
{
	struct super_parts *all = *pp;
	*pp = NULL;
	if (!all)
		return;
	for (size_t i = 0; i < all->nr; i++) {
		if (all->item[i].part->release)
			all->item[i].part->release(all->item[i].object);
		free(all->item[i].object);
	}
	free(all->item);
	free(all);
}
