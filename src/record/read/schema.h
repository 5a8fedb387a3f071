/* The SQL of schema/, embedded in the binary. */
#ifndef RECORD_READ_SCHEMA_H
#define RECORD_READ_SCHEMA_H

#include <stddef.h>

enum {
	SCHEMA_APPLICATION = 0x53474c53, /* "SGLS" */
	SCHEMA_FORMAT = 2,		 /* user_version */
};

/* The tables of formats 1 and 2 are the same. */
const char *schema_tables(void);
const char *schema_views(void);
const char *schema_earlier(void); /* definitions of files that earlier versions wrote */

#endif
