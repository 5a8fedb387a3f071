/* A project's instructions for agents: AGENTS.md and CLAUDE.md at its root, and skills. A skill is
 * a directory with a SKILL.md below .agents/skills, .claude/skills, or .sandglass/skills (name and
 * description in its front matter, agentskills.io).
 *
 * 1. Files are read on the host, below the project's directory. A link out of it, a special file,
 *    more than PROJECT_TEXT_MAX bytes, and text outside UTF-8 are left out, with the reason.
 * 2. A file counts only with the content that the user trusted (trust.h). A changed or new file is
 *    left out until the user has checked it again. The bytes are read once, so the checked bytes
 *    are the used ones.
 * 3. Two files with the same text count once (CLAUDE.md is often a link to AGENTS.md).
 * Any thread. */
#ifndef SECRETS_PROJECT_H
#define SECRETS_PROJECT_H

#include "secrets/trust.h"
#include "base/buf.h"

enum { PROJECT_TEXT_MAX = 64 << 10, PROJECT_SKILLS_MAX = 64 };

struct project_text {
	char *path;	    /* below the project's directory */
	char *full;	    /* the same on the host: what trust is kept by */
	char *name, *about; /* of a skill; NULL: instructions */
	char *why;	    /* it cannot be used whatever the trust, and why; else NULL */
	struct buf text;
	char hash[65]; /* SHA-256, hex */
	enum trust_state trust;
	uint32_t hidden; /* characters in it that cannot be seen */
};

struct project {
	struct project_text *item;
	size_t nr, cap;
};

/* Is there anything of that kind at all? Cheap; reads no file. */
bool project_has_text(const char *dir);
/* Everything that there is, instructions first. Release it also when it is empty. */
void project_read(struct project *out, const char *dir);
void project_release(struct project *p);
/* Where the text of a skill begins, behind its front matter. */
const char *skill_body(const struct project_text *t);

#endif
