/* The small indexes over events (schema/lists.sql), in the very words in which SQLite knows that they hold what is asked for.
 * A session that runs has none, nor has a file from before they were there: what names one of them is then no SQL. */
#ifndef QUERY_LISTED_H
#define QUERY_LISTED_H

#define LISTED_EDITED \
	"event INDEXED BY event_edited WHERE kind = 103 AND (instr(body, '\"decision\":\"edit\"') > 0 OR instr(body, '\\u00') > 0)"
#define LISTED_NOTED "event INDEXED BY event_noted WHERE kind = 420"
#define LISTED_MARKED \
	"event INDEXED BY event_marked WHERE kind = 420 AND (instr(body, '\"level\":\"mark\"') > 0 OR instr(body, '\\u00') > 0)"
#define IS_RARE(kind) \
	kind " <> 10 AND " kind " NOT BETWEEN 100 AND 107 AND " kind " NOT BETWEEN 430 AND 438 AND " kind " NOT BETWEEN 205 AND 210 AND " kind \
	     " NOT BETWEEN 401 AND 402 AND " kind " <> 411 AND " kind " <> 414 AND " kind " <> 420 AND " kind " <> 450 AND " kind " <> 11"
#define LISTED_RARE "event INDEXED BY event_rare WHERE " IS_RARE("kind")

#endif
