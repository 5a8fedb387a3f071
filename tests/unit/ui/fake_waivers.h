/* The supervisor's answers to `waivers ID [PATTERN]` for action 25 of tests/screens/steer.jsonl
 * and for any other. */
#ifndef FAKE_WAIVERS_H
#define FAKE_WAIVERS_H

#include <stdio.h>
#include <string.h>

#include "ui/frame/act.h"

static const char *fake_host = "github.com:443"; /* the action's host in the answer */
static const char fake_proposals[] =
	"{\"proposals\": ["
	"{\"pattern\": \"git push origin fix/parser\", \"wide\": false,"
	" \"matched\": 1, \"denied\": 0, \"tried\": 8, \"actions\": [25]},"
	"{\"pattern\": \"git push origin fix/*\", \"wide\": false,"
	" \"matched\": 2, \"denied\": 0, \"tried\": 8, \"actions\": [25, 13]},"
	"{\"pattern\": \"git push *\", \"wide\": true,"
	" \"matched\": 3, \"denied\": 1, \"tried\": 8, \"actions\": [25, 17, 13]}],"
	"\"hosts\": [{\"host\": \"github.com:443\","
	" \"matched\": 2, \"denied\": 1, \"tried\": 8, \"actions\": [21, 9]}]}";

static void fake_rule(json_t *tried, const char *pattern, const char *verdict)
{
	char text[400];
	bool deny = strcmp(verdict, "deny") == 0;
	snprintf(text, sizeof(text),
		 "p.%s \"added%s-git-push\" { kind = \"exec\", cmd = \"%s\"%s }", verdict,
		 deny ? "-no" : "", pattern, deny ? "" : ", lifts = \"no-push\"");
	json_put_str(tried, "text", text);
	json_put_str(tried, "file", ".sandglass/added.lua");
	json_put_int(tried, "line", 5);
	json_put_str(tried, "then", verdict);
	json_put_str(tried, "by", "added-git-push");
}

/* True if it was that question; it is answered at once. */
static bool fake_waivers(const char *const *words, size_t nr, const json_t *opts, act_done_fn *done,
			 void *done_self)
{
	struct err err = ERR_INIT;
	if (strcmp(words[0], "waivers") != 0)
		return false;
	const char *pattern = nr > 2 ? words[2] : NULL;
	CLEANUP(json_release)
	json_t *answer = json_parse(fake_proposals, strlen(fake_proposals), "answer", &err);
	json_put_str(json_array_get(json_object_get(answer, "hosts"), 0), "host", fake_host);
	if (pattern && strncmp(pattern, "git", 3) != 0) {
		err_set(&err, ERR_PARSE, "pattern \"%s\" must begin with the name of a command",
			pattern);
		done(done_self, NULL, &err);
		return true;
	}
	if (pattern) {
		size_t len = strlen(pattern);
		bool wide = len < 12 && pattern[len - 1] == '*';
		json_t *tried = json_copy(json_array_get(json_object_get(answer, "proposals"),
							 wide			? 2
							 : strchr(pattern, '*') ? 1
										: 0));
		json_put_str(tried, "pattern", pattern);
		json_put_flag(tried, "wide", wide);
		if (json_str(opts, "rule", NULL))
			fake_rule(tried, pattern, json_str(opts, "rule", ""));
		json_put(answer, "tried", tried);
	}
	done(done_self, answer, NULL);
	return true;
}

#endif
