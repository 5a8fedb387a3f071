/* Rules that are valid, but match more or less than their author probably meant. Pure. */
#ifndef ACTION_POLICY_DOUBT_H
#define ACTION_POLICY_DOUBT_H

#include "action/policy.h"

enum doubt_kind {
	DOUBT_NONE,
	DOUBT_BARE,	/* ask, deny: "git push" is only the command without further words */
	DOUBT_NARROW,	/* allow: "git push*" allows no further words */
	DOUBT_PROGRAMS, /* allow: "git*" is every program whose name begins so */
	DOUBT_SCRIPTS,	/* allow: "sh *" is every script that an agent can write */
	DOUBT_HOSTS,	/* allow: "*example.com" is also evilexample.com */
	DOUBT_URLS,	/* allow: "https://a.example*" is also https://a.example.evil.com/ */
};

struct policy_doubt {
	enum doubt_kind kind;
	const char *pattern; /* borrowed from the rule; NULL if DOUBT_NONE */
};

/* The first doubt about a rule. */
struct policy_doubt policy_doubt_of(const struct rule *r);
const char *policy_doubt_name(enum doubt_kind kind); /* for JSON: "bare", "narrow", ... */
/* Appends what the pattern does ("allows ..."), and what to write instead. */
void policy_doubt_effect(const struct policy_doubt *d, struct buf *out);
void policy_doubt_fix(const struct policy_doubt *d, struct buf *out);

#endif
