/* Plugins that rent out boxes (plugins/sandboxes, or a file of the user's own): each is a driver
 * (hosted.h) whose questions a Lua host without hands answers with requests, which are sent
 * here, with the keys put in by name. A request goes to the hosts that the plugin declares, or to
 * the one that the user has named, and is recorded (box.call). */
#ifndef HOSTED_HOSTED_PLUGIN_H
#define HOSTED_HOSTED_PLUGIN_H

#include "base/json.h"

struct super;
struct rent;

/* From now on driver_find knows them: by the name of a shipped file or of one that was added, or by
 * a path that ends in .lua. */
NODISCARD int hosted_plugin_open(struct rent **out, struct super *s, struct err *err);
/* Before the record ends: ways in to ports that are still open end, and are noted. NULL is fine. */
void hosted_plugin_ways_end(struct rent *r);
void hosted_plugin_free(struct rent **r); /* every box must be gone */

/* Names of the shipped ones, one by one; NULL past the end. Borrowed. */
const char *hosted_plugin_name(size_t i);

#endif
