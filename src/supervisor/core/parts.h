/* A module's object of a session, without a field in struct super. The module describes the object
 * once and finds it by the address of that description:
 *     static struct room *disk_space_of(const struct super *s)
 *     {
 *             static const struct super_part part = { sizeof(struct room), NULL };
 *             return super_part(s, &part);
 *     }
 * Loop thread only. */
#ifndef SUPERVISOR_CORE_PARTS_H
#define SUPERVISOR_CORE_PARTS_H

#include <stddef.h>

struct super;

struct super_part {
	size_t size; /* bytes */
	/* frees its contents after the session has ended, without a loop; NULL: nothing to free */
	void (*release)(void *object);
};
/* The object of @part: all zero at first use, at one address until super_parts_free. Borrowed. */
void *super_part(const struct super *s, const struct super_part *part);

struct super_parts *super_parts_new(void);
void super_parts_free(struct super_parts **parts);

#endif
