/* The SQL of schema/, embedded in the binary. */
#ifndef RECORD_SCHEMA_H
#define RECORD_SCHEMA_H

#include <stddef.h>

enum {
	SCHEMA_APPLICATION = 0x53474c53, /* "SGLS" */
	SCHEMA_FORMAT = 1,		 /* user_version: the number of the last migration */
};

/* Migration 1 .. SCHEMA_FORMAT, NUL-terminated; NULL past the end. */
const char *schema_migration(int format);
const char *schema_views(void);

#endif
