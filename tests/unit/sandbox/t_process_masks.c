/* The files that masks hide: names, tokens, git's index and configuration. */
#include "box_fixture.h"

#include "record/secrets.h"
#include "sandbox/view/masks.h"

static void names(void)
{
	static const char *const hide[] = { ".env",	   ".env.local",  "server.pem",		  "tls.key", "id_rsa",
					    "id_ed25519",  ".npmrc",	  "credentials.json",	  ".netrc",  "x.p12",
					    "prod.tfvars", "secrets.yml", "credentials-prod.json" };
	static const char *const show[] = { ".env.example", "env",	  "id_rsa.pub",	  "id_map.py", "keys.c",
					    "Makefile",	    "monkey.txt", "package.json", ".envrc.md" };
	for (size_t i = 0; i < ARRAY_LEN(hide); i++)
		ok(masks_name_suspect(hide[i], false), "%s is suspect", hide[i]);
	for (size_t i = 0; i < ARRAY_LEN(show); i++)
		ok(!masks_name_suspect(show[i], false), "%s is not", show[i]);
	ok(masks_name_suspect(".ssh", true) && !masks_name_suspect("src", true), "folders too");
}

static void tokens(void)
{
	static const char *const live[] = { "x=ghp_0123456789abcdefghijABCDEFGHIJ012345",
					    "-----BEGIN RSA PRIVATE KEY-----", "AKIAABCDEFGHIJKLMNOP",
					    "//registry.example.org/:_authToken=abc" };
	static const char *const harmless[] = { "KEY=changeme", "sk-short", "-----BEGIN CERTIFICATE-----",
						"task-0123456789", "xAKIAABCDEFGHIJKLMNOP" };
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		ok(masks_text_suspect(live[i], strlen(live[i])), "a live token: %.12s", live[i]);
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		ok(!masks_text_suspect(harmless[i], strlen(harmless[i])), "none: %s", harmless[i]);
}

#define ALNUM36 "R7kQ2mZp9XvTs4LwB8nYc6HdJ3fGa5KeUt1o"
/* in two pieces, so that this file is not hidden itself */
static const char b64[] = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";

/* The strict rule: whole forms in any text, and what only mentions them. */
static void forms(void)
{
	static const char *const live[] = {
		"see ghp_" ALNUM36 ".", "K=\"sk-ant-" "api03-R7kQ2mZp9XvTs4LwB8nYc6Hd\"", "sk-proj-" "R7kQ2mZp9XvTs4LwB8nYc6Hd",
		"glpat-" "R7kQ2mZp9XvTs4LwB8nY", "AIza" "R7kQ2mZp9XvTs4LwB8nYc6HdJ3fGa5KeUt1",
		"id AKIA" "R7KQ2MZP9XVTS4LW secret R7kQ2mZp9XvTs4LwB8nYc6HdJ3fGa5KeUt1o/+Zq\n",
		"npm_" ALNUM36, "xoxb-" "2948173650-R7kQ2mZp9XvTs4Lw", "github_pat_" ALNUM36 ALNUM36,
	};
	static const char *const harmless[] = {
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghp_ and sk-ant- are forms of tokens", "AKIAIOSFODNN7EXAMPLE",
		("AKIA" "R7KQ2MZP9XVTS4LW"), ".sk-folding-cube-with-a-very-long-class-name", "task-ghp_",
		"if (strstr(s, \"-----BEGIN RSA PRIVATE KEY-----\"))",
		"-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAo",
		"sk-YOUR_API_KEY_GOES_HERE_PLEASE_REPLACE_ME", "hf_", "sha 5c77d9d5c77d9d5c77d9d5c77d9d5c77d9d5c77d9d",
	};
	CLEANUP(free_ptr) char *pem = mem_printf("-----BEGIN RSA PRIVATE KEY-----\n%s\n", b64);
	CLEANUP(free_ptr) char *json = mem_printf("{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n%s\\n\"}", b64);
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		ok(masks_token_form(live[i], strlen(live[i])) != NULL, "whole: %.16s", live[i]);
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		ok(!masks_token_form(harmless[i], strlen(harmless[i])), "no token: %.40s", harmless[i]);
	is_str(masks_token_form(pem, strlen(pem)), "private key", "a key");
	is_str(masks_token_form(json, strlen(json)), "private key", "a key in JSON");
}

static bool masked(const struct masks *m, const char *path);

static int64_t scan_again(const char *dir, struct masks *m)
{
	struct strv expose = STRV_INIT;
	struct err err = ERR_INIT;
	masks_release(m);
	ok(masks_scan(dir, &expose, m, &err) == 0, "scanned %s", err.text);
	return m->reread;
}

/* Harmless names: looked into once, found again from the cache, and anew when the session holds another secret. */
static void contents(const char *dir)
{
	struct masks m = { 0 };
	struct err err = ERR_INIT;
	fx_file(dir, "notes.txt", "mine: ghp_" ALNUM36 "\n", 0644);
	fx_file(dir, "deep/er/config.ini", "password=Wonderland-7781\n", 0644);
	fx_file(dir, "node_modules/x/y.js", "ghp_" ALNUM36, 0644);
	fx_file(dir, "plain.c", "int main;\n", 0644);
	CLEANUP(free_ptr) char *big = mem_alloc((2 << 20) + 1);
	memset(big, 'x', 2 << 20);
	big[2 << 20] = 0;
	fx_file(dir, "big.txt", big, 0644);
	CLEANUP(free_ptr) char *old = mem_printf("find '%s' -exec touch -d '2020-01-01' {} + && sleep 3.1", dir);
	is_int(system(old), 0, "all of it is old"); /* the time of change cannot be set, only waited for */
	is_int(scan_again(dir, &m), 3, "three are read");
	ok(masked(&m, "notes.txt") && !masked(&m, "plain.c") && !masked(&m, "deep/er/config.ini"), "a token is hidden");
	is_int(m.looked, 3, "three were looked into");
	is_int(m.unread, 2, "the large one and what a tool has filled were not");
	is_int(scan_again(dir, &m), 0, "nothing is read again");
	ok(masked(&m, "notes.txt") && m.looked == 3, "and the token is known");
	struct secrets *s = secrets_new();
	ok(secrets_add(s, "K", "Wonderland-7781", 15, &err) == 0, "the session has a secret");
	masks_values(s);
	is_int(scan_again(dir, &m), 3, "all is looked at for it");
	ok(masked(&m, "deep/er/config.ini") && masked(&m, "notes.txt"), "what holds it is hidden");
	is_int(scan_again(dir, &m), 0, "and that is known, too");
	ok(masked(&m, "deep/er/config.ini"), "still hidden");
	masks_values(NULL);
	masks_release(&m);
}

static void configuration(void)
{
	static const char *const cases[][2] = {
		{ "\turl = https://me:pw@h.org/x\n", "\turl = https://h.org/x\n" },
		{ "\turl = https://token@h.org/x\n", "\turl = https://h.org/x\n" },
		{ "\turl = ssh://git@h.org/x\n", NULL },
		{ "\turl = git@h.org:x\n", NULL },
		{ "\textraheader = AUTHORIZATION: basic eDp5\n", "" },
		{ "[user]\n\tname = a@b\n", NULL },
		{ "a https://u:p@h/ b https://v:q@i/ c", "a https://h/ b https://i/ c" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		bool changed = masks_clean_config(cases[i][0], strlen(cases[i][0]), &out);
		ok(changed == (cases[i][1] != NULL), "%s: %.30s", changed ? "cleaned" : "left", cases[i][0]);
		is_str(buf_cstr(&out), cases[i][1] ? cases[i][1] : cases[i][0], "as it should");
	}
}

/* A repository's configuration in formats that line-based parsing would miss, with its includes. */
static void shown_configuration(const char *dir)
{
	struct masks m = { 0 };
	struct strv expose = STRV_INIT;
	struct err err = ERR_INIT;
	fx_file(dir, "more/extra", "[http]\n\tcookieFile = wonder-1\n[diff]\n\tcontext = 7\n", 0644);
	fx_file(dir, "conf/.git/HEAD", "ref: refs/heads/main\n", 0644);
	fx_file(dir, "conf/.git/config",
		"[http] extraheader = wonder-2\n[http \"https://wonder-3@h.org/\"]\n\tproxy = x\n[imap]\n\tpass = a\\\nwonder-4\n"
		"[credential]\n\thelper = \"!f() { echo password=wonder-5; }\"\n[commit]\n\tgpgSign = true\n"
		"[include]\n\tpath = ../../more/extra\n[remote \"o\"]\n\turl = https://u:wonder-6@h.org/x\n", 0644);
	is_int(masks_scan(dir, &expose, &m, &err), 0, "scanned");
	const struct mask *config = NULL;
	for (size_t i = 0; i < m.nr; i++)
		if (strcmp(m.item[i].path, "conf/.git/config") == 0)
			config = &m.item[i];
	const char *text = config && config->clean ? buf_cstr(&config->text) : "wonder";
	ok(!strstr(text, "wonder"), "no credential is left");
	ok(!strstr(text, "gpgsign") && !strstr(text, "include"), "nor settings that only work on the host");
	ok(strstr(text, "context = \"7\"") && strstr(text, "https://h.org/x"), "the rest is there, that of includes too");
	ok(config && !config->quiet, "and the mask is reported");
	masks_release(&m);
}

static bool masked(const struct masks *m, const char *path)
{
	for (size_t i = 0; i < m->nr; i++)
		if (strcmp(m->item[i].path, path) == 0)
			return true;
	return false;
}

/* An index as git writes it, of the versions that there are. */
static void index_of_git(const char *dir)
{
	fx_file(dir, ".env", "KEY=changeme\n", 0644);
	fx_file(dir, "a/live.key", "-----BEGIN EC PRIVATE KEY-----\n", 0644);
	fx_file(dir, "a/test.pem", "-----BEGIN CERTIFICATE-----\n", 0644);
	fx_file(dir, "b/.npmrc", "x\n", 0644);
	fx_file(dir, ".env.local", "x\n", 0644);
	for (int version = 2; version <= 4; version++) {
		CLEANUP(free_ptr)
		char *cmd = mem_printf(
			"cd '%s' && git init -q . 2>/dev/null && git update-index --index-version %d 2>/dev/null;"
			" cd '%s' && git add -f .env a b && git update-index --index-version %d",
			dir, version, dir, version);
		if (system(cmd) != 0) {
			skip(5, "no git");
			continue;
		}
		struct masks m = { 0 };
		struct strv expose = STRV_INIT;
		struct err err = ERR_INIT;
		is_int(masks_scan(dir, &expose, &m, &err), 0, "scanned");
		ok(!masked(&m, ".env") && !masked(&m, "a/test.pem") && !masked(&m, "b/.npmrc"),
		   "version %d: tracked files stay", version);
		ok(masked(&m, "a/live.key"), "but for a live key");
		ok(masked(&m, ".env.local"), "untracked ones do not");
		is_int(m.files, 8, "files and folders are counted, git's own not");
		masks_release(&m);
	}
}

int main(void)
{
	fx_start();
	CLEANUP(free_ptr) char *cache = fx_path("cache");
	setenv("XDG_CACHE_HOME", cache, 1);
	names();
	tokens();
	configuration();
	CLEANUP(free_ptr) char *dir = fx_path("git");
	index_of_git(dir);
	forms();
	CLEANUP(free_ptr) char *tree = fx_path("tree");
	contents(tree);
	CLEANUP(free_ptr) char *shown = fx_path("shown");
	shown_configuration(shown);
	return fx_end();
}
