/* Keys to verbs: two tables (verbs.def, keys.def), and what help and key line make of them. */
#ifndef UI_FRAME_KEYMAP_H
#define UI_FRAME_KEYMAP_H

#include "base/json.h"
#include "ui/term/term.h"

enum verb {
	VERB_NONE,
#define VERB(NAME, name, group, acts, alone, doc) VERB_##NAME,
#include "ui/frame/verbs.def"
#undef VERB
	VERB_NR
};
enum verb_group {
	GROUP_MOVE,
	GROUP_ACT,
	GROUP_LOOK,
	GROUP_ALL,
	GROUP_DECIDE,
	GROUP_REPLAY,
	GROUP_HERE,
	/* a screen's own, no verb's */ GROUP_NR
};

/* Screens on which a key means something; a view says which it is. */
enum {
	IN_FLEET = 1 << 0,
	IN_AGENT = 1 << 1,
	IN_APPROVAL = 1 << 2,
	IN_QUEUE = 1 << 3,
	IN_DIFF = 1 << 4,
	IN_LOG = 1 << 5,
	IN_HELP = 1 << 6,
	IN_TABLE = 1 << 8,
	IN_PALETTE = 1 << 9,
	IN_REPEAT = 1 << 10,
	IN_JOBS = 1 << 11,
	IN_BOXES = 1 << 12,
	IN_QUESTION = 1 << 13,
	IN_FILES = 1 << 14,
	IN_COMPARE = 1 << 15,
	IN_PAGE = 1 << 16,
	IN_PLOT = 1 << 17,     /* no row of theirs can be opened */
	IN_SESSIONS = 1 << 18, /* sessions of the directory, not of this screen */
	IN_REPLAY = 1 << 7,    /* besides the view: the session is a record */
	IN_AGENTS = IN_FLEET | IN_AGENT,
	IN_PANES = IN_FLEET | IN_AGENT | IN_DIFF | IN_REPEAT, /* with parts that Tab goes round */
	IN_DECIDE = IN_APPROVAL | IN_QUEUE | IN_DIFF,	      /* where keys mark, take, decide */
	IN_LISTS = IN_FLEET | IN_AGENT | IN_QUEUE | IN_LOG,
	IN_COPY = IN_FLEET | IN_AGENT | IN_QUEUE | IN_DIFF | IN_LOG | IN_HELP | IN_TABLE |
		  IN_REPEAT | IN_JOBS |
		  /* what can be taken along; not the dialog */
		  IN_BOXES | IN_FILES | IN_COMPARE | IN_PAGE | IN_PLOT,
	IN_ALL = IN_FLEET | IN_AGENT | IN_APPROVAL | IN_QUEUE | IN_DIFF | IN_LOG | IN_HELP |
		 IN_TABLE | IN_REPEAT | IN_JOBS | IN_BOXES | IN_QUESTION | IN_FILES | IN_COMPARE |
		 IN_PAGE | IN_PLOT,
};

struct key_row {
	unsigned where;
	uint32_t key;
	enum verb verb;
	const char *hint;
};

enum verb keymap_verb(unsigned where, uint32_t key); /* VERB_NONE */
size_t keymap_count(void);
const struct key_row *keymap_row(size_t i);
/* A user's own keys: {"fleet": {"X": "kill", "Ctrl-k": "none"}, "all": {...}}. They come before
 * ours. Invalid entries (an unknown name, or a key of the approval dialog, which is fixed) are
 * left out. @said gets a line for each, and for each entry that hides another (a key with an
 * earlier meaning, a verb left without a key). May be called once. */
void keymap_user(const json_t *map, struct buf *said);
/* Ctrl-n p v s g as there, before ours; prompts take Ctrl-g for Esc. */
void keymap_emacs(bool on);
bool keymap_is_emacs(void);
/* "j", "Ctrl-d", "F5", "Enter"; KEY_NONE_ for an unknown name. */
uint32_t key_parse(const char *name);
const char *verb_name(enum verb v);
const char *verb_doc(enum verb v);
enum verb_group verb_group(enum verb v);
bool verb_acts(enum verb v);
bool verb_alone(enum verb v); /* works without a session on the screen */
enum verb verb_find(const char *name);
const char *verb_group_title(enum verb_group g);
/* "j", "Ctrl-d", "F5", "Enter" */
void key_name(uint32_t key, char out[16]);

#endif
