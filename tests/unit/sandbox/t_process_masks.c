/* What masks hide: names, tokens, git's index and configuration. */
#include "box_fixture.h"

#include "sandbox/masks.h"

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
		char *cmd = xasprintf(
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
	names();
	tokens();
	configuration();
	CLEANUP(free_ptr) char *dir = fx_path("git");
	index_of_git(dir);
	return fx_end();
}
