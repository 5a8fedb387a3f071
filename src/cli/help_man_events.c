/* sandglass-events(7), from the declarations of events (src/wire/events.def explains them). */
#include <string.h>

#include "base/compat.h"
#include "cli/help.h"
#include "cli/lib/roff.h"

enum doc_row { DOC_EVENT, DOC_STRUCT, DOC_FIELD };

static const struct {
	enum doc_row row;
	const char *name, *type, *text;
} event_docs[] = {
#define EVENT_DOC(name, text)	      { DOC_EVENT, (name), NULL, (text) },
#define EVENT_STRUCT(name, text)      { DOC_STRUCT, (name), NULL, (text) },
#define EVENT_FIELD(name, type, text) { DOC_FIELD, (name), (type), (text) },
#include "event_docs.inc"
#undef EVENT_DOC
#undef EVENT_STRUCT
#undef EVENT_FIELD
};

static void put_event_heading(struct buf *out, const char *macro, const char *name)
{
	buf_printf(out, ".TP\n.%s ", macro);
	roff_literal(out, name, strlen(name));
	buf_putc(out, '\n');
}

static void put_event_text(struct buf *out, const char *text)
{
	roff_prose(out, text, strlen(text));
	buf_putc(out, '\n');
}

static void put_event_field(struct buf *out, size_t i)
{
	buf_puts(out, ".TP\n.BR ");
	roff_literal(out, event_docs[i].name, strlen(event_docs[i].name));
	buf_puts(out, " \" ");
	roff_literal(out, event_docs[i].type, strlen(event_docs[i].type));
	buf_puts(out, "\"\n");
	put_event_text(out, event_docs[i].text);
}

/* All events, or all structs, with their fields indented. */
static void put_event_rows(struct buf *out, enum doc_row want)
{
	bool on = false, inner = false;
	for (size_t i = 0; i < ARRAY_LEN(event_docs); i++) {
		bool field = event_docs[i].row == DOC_FIELD;
		if (!field && inner)
			buf_puts(out, ".RE\n");
		inner = inner && field;
		on = field ? on : event_docs[i].row == want;
		if (!on)
			continue;
		if (!field) {
			put_event_heading(out, "B", event_docs[i].name);
			put_event_text(out, event_docs[i].text);
			continue;
		}
		if (!inner)
			buf_puts(out, ".RS\n");
		inner = true;
		put_event_field(out, i);
	}
	if (inner)
		buf_puts(out, ".RE\n");
}

void help_man_events(struct buf *out)
{
	roff_section(out, "Description");
	roff_layout(
		out,
		"A recording is a list of events. 'sandglass events --json' prints each with its\n"
		"'kind' and its 'body', which holds the fields named here. Any field may be absent:\n"
		"empty ones are left out, and older versions of sandglass wrote fewer.\n"
		"\n"
		"Types: int, flag (true or false), str and bytes (a string; bytes that are not UTF-8\n"
		"or hold NUL are an object with the member b64), json (any value), and the name of a\n"
		"structure. [TYPE] is a list, {TYPE} an object with any keys. H is SHA-256.\n"
		"schema/events.json of the sources has the same as a JSON Schema.\n");
	roff_section(out, "Events");
	put_event_rows(out, DOC_EVENT);
	roff_section(out, "Structures");
	put_event_rows(out, DOC_STRUCT);
}
