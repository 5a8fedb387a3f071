/* The fake supervisor's default answers: every operation of wire/host.h against directories
 * under its root. Part of fake_super.c, in a file of its own for its length. */
#ifndef FAKE_OPS_H
#define FAKE_OPS_H

#include "fake_super.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

struct sleeper {
	uint64_t id;
	int64_t due;
	struct sleeper *next;
};

struct fake {
	const struct fake_opts *o;
	struct fake_run *r;
	struct host *h;
	int sock;
	pid_t pid;
	struct buf queue; /* frames for the host, not yet sent */
	int64_t now;
	struct sleeper *sleepers; /* by due time, then order */
	json_t *store, *dirs;
	int64_t ids;
	char *root;
	bool over;
};

char *fake_source(const char *path)
{
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	if (file_read(path, &b, 64 << 20, &err) < 0) {
		buf_release(&b);
		return NULL;
	}
	buf_puts(&b, "");
	return buf_take(&b);
}

static json_t *value(json_t *v)
{
	return json_pack("{s:o}", "value", v);
}

static json_t *failure(const char *code, const char *fmt, const char *arg)
{
	char *msg = mem_printf("%s%s", fmt, arg);
	json_t *e = json_pack("{s:{s:s,s:s}}", "err", "code", code, "msg", msg);
	free(msg);
	return e;
}

static const char *box_dir(struct fake *f, const json_t *args)
{
	char key[32];
	snprintf(key, sizeof(key), "%lld", (long long)json_int(args, "box", 0));
	return json_str(f->dirs, key, NULL);
}

static char *box_path(const char *dir, const char *path)
{
	if (strncmp(path, "/workspace/", 11) == 0)
		path += 11;
	return mem_printf("%s/%s", dir, path);
}

/* --- commands --- */

static void collect(FILE *f, json_t *o, const char *key)
{
	struct buf b = BUF_INIT;
	char chunk[4096];
	size_t n;
	rewind(f);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_append(&b, chunk, n);
	json_put_bytes(o, key, buf_cstr(&b), b.len);
	buf_release(&b);
	fclose(f);
}

static json_t *run_command(const char *dir, const json_t *args)
{
	struct strv argv = STRV_INIT;
	const char *cmd = json_str(args, "cmd", NULL);
	if (cmd) {
		strv_push(&argv, "sh");
		strv_push(&argv, "-c");
		strv_push(&argv, cmd);
	} else {
		json_get_argv(json_object_get(args, "argv"), &argv);
	}
	FILE *out = tmpfile(), *err = tmpfile(), *in = tmpfile();
	struct buf stdin_bytes = BUF_INIT;
	if (json_get_bytes(json_object_get(args, "stdin"), &stdin_bytes))
		fwrite(buf_cstr(&stdin_bytes), 1, stdin_bytes.len, in);
	buf_release(&stdin_bytes);
	rewind(in);
	pid_t pid = fork();
	if (pid == 0) {
		const char *cwd = json_str(args, "cwd", NULL);
		char *full = cwd ? box_path(dir, cwd) : mem_strdup(dir);
		if (chdir(full) < 0)
			_exit(126);
		const char *key;
		json_t *v;
		json_t *env = json_object_get(args, "env");
		json_object_foreach(env, key, v) setenv(key, json_string_value(v), 1);
		dup2(fileno(in), 0);
		dup2(fileno(out), 1);
		dup2(fileno(err), 2);
		execvp(argv.item[0], argv.item);
		_exit(127);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	strv_release(&argv);
	fclose(in);
	json_t *res = json_object();
	if (WIFEXITED(status))
		json_put_int(res, "code", WEXITSTATUS(status));
	else
		json_put_int(res, "signal", WTERMSIG(status));
	json_put_int(res, "ms", 3);
	collect(out, res, "out");
	collect(err, res, "err");
	return res;
}

/* "sleep N" takes N seconds on the automatic clock; everything else runs at once. */
static int64_t asked_sleep(const json_t *args)
{
	const char *cmd = json_str(args, "cmd", "");
	return strncmp(cmd, "sleep ", 6) == 0 ? (int64_t)(atof(cmd + 6) * 1e6) : 0;
}

/* --- operations --- */

static json_t *new_box(struct fake *f, const char *name, const char *copy_of)
{
	int64_t id = ++f->ids;
	char key[32], *dir = mem_printf("%s/b%lld", f->root, (long long)id);
	snprintf(key, sizeof(key), "%lld", (long long)id);
	if (copy_of) {
		char *cmd = mem_printf("cp -a '%s' '%s'", copy_of, dir);
		if (system(cmd) != 0)
			fprintf(stderr, "fake: cannot copy %s\n", copy_of);
		free(cmd);
	} else {
		mkdir(dir, 0700);
	}
	char *base = mem_printf("rm -rf '%s.base'; cp -a '%s' '%s.base'", dir, dir, dir);
	if (system(base) != 0)
		fprintf(stderr, "fake: cannot keep the base\n");
	free(base);
	json_object_set_new(f->dirs, key, json_string(dir));
	free(dir);
	json_t *v = json_pack("{s:I,s:s,s:s,s:s}", "box", (json_int_t)id, "name", name, "backend",
			      "process", "profile", "enforced");
	return value(v);
}

static json_t *op_box_open(struct fake *f, const json_t *args)
{
	const char *repo = json_str(args, "repo", NULL);
	if (repo && f->o->repo)
		repo = f->o->repo;
	return new_box(f, json_str(args, "name", "box"), repo);
}

static json_t *op_box_file(struct fake *f, const char *op, const json_t *args)
{
	struct err err = ERR_INIT;
	const char *dir = box_dir(f, args), *path = json_str(args, "path", "");
	char *full = box_path(dir, path);
	struct buf b = BUF_INIT;
	json_t *answer = NULL;
	if (strcmp(op, "box.write") == 0) {
		json_get_bytes(json_object_get(args, "data"), &b);
		char *cmd = mem_printf("mkdir -p \"$(dirname '%s')\"", full);
		if (system(cmd) == 0 &&
		    file_write_atomic(full, buf_cstr(&b), b.len, 0644, &err) == 0)
			answer = value(json_pack("{s:I}", "event", (json_int_t)++f->ids));
		free(cmd);
	} else if (file_read(full, &b, 64 << 20, &err) < 0) {
		answer = failure("io", "no file ", path);
	} else if (strcmp(op, "box.read") == 0) {
		json_t *v = json_object();
		json_put_bytes(v, "data", buf_cstr(&b), b.len);
		answer = value(v);
	} else {
		const char *old = json_str(args, "old", ""), *new = json_str(args, "new", "");
		char *at = strstr(buf_cstr(&b), old);
		if (!at) {
			answer = failure("io", "the old text does not occur in ", path);
		} else if (strstr(at + 1, old) && !json_flag(args, "all", false)) {
			answer = failure("io", "the old text occurs more than once in ", path);
		} else {
			struct buf made = BUF_INIT;
			buf_append(&made, b.data, (size_t)(at - b.data));
			buf_puts(&made, new);
			buf_puts(&made, at + strlen(old));
			if (file_write_atomic(full, buf_cstr(&made), made.len, 0644, &err) == 0)
				answer = value(json_pack("{s:I,s:i}", "event", (json_int_t)++f->ids,
							 "count", 1));
			buf_release(&made);
		}
	}
	if (!answer)
		answer = failure("io", err.text, "");
	buf_release(&b);
	free(full);
	return answer;
}

static json_t *op_diff(struct fake *f, const json_t *args)
{
	const char *dir = box_dir(f, args);
	char *cmd =
		mem_printf("diff -ruN -x .git -x test_words '%s.base' '%s' | sed 's|%s[^ ]*/||g'",
			   dir, dir, f->root);
	json_t *ran = json_pack("{s:s}", "cmd", cmd), *res = run_command(dir, ran),
	       *files = json_array();
	const char *patch = json_str(res, "out", ""), *p = patch;
	int lines = 0, added = 0, removed = 0;
	json_t *file = NULL;
	for (; *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : p + strlen(p)) {
		if (strncmp(p, "diff ", 5) == 0) {
			const char *end = strchrnul(p, '\n'), *name = end;
			while (name > p && name[-1] != ' ')
				name--;
			file = json_pack("{s:s%}", "path", name, (size_t)(end - name));
			json_array_append_new(files, file);
			added = removed = 0;
		} else if ((*p == '+' || *p == '-') && strncmp(p, "+++", 3) != 0 &&
			   strncmp(p, "---", 3) != 0) {
			lines++;
			added += *p == '+';
			removed += *p == '-';
			json_object_set_new(file, "added", json_integer(added));
			json_object_set_new(file, "removed", json_integer(removed));
		}
	}
	json_t *v = json_pack("{s:i,s:o,s:s}", "lines", lines, "files", files, "patch", patch);
	json_decref(res);
	json_decref(ran);
	free(cmd);
	return value(v);
}

static json_t *op_glob(struct fake *f, const json_t *args)
{
	const char *dir = box_dir(f, args), *pattern = json_str(args, "pattern", "*");
	json_t *ran = json_pack("{s:s}", "cmd", "find . -type f | sed 's|^./||' | LC_ALL=C sort"),
	       *res = run_command(dir, ran);
	json_t *paths = json_array();
	char *text = mem_strdup(json_str(res, "out", "")), *save = NULL;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		if (fnmatch(pattern, p, 0) == 0 ||
		    (strncmp(pattern, "**/", 3) == 0 && fnmatch(pattern + 3, p, 0) == 0))
			json_array_append_new(paths, json_string(p));
	free(text);
	json_decref(res);
	json_decref(ran);
	return value(json_pack("{s:o}", "paths", paths));
}

static json_t *op_module(struct fake *f, const json_t *args)
{
	const char *name = json_str(args, "name", "");
	char *path = NULL, *text = NULL;
	(void)f;
	if (strcmp(name, "sandglass") == 0) {
		path = mem_strdup("lua/sandglass/init.lua");
	} else if (strncmp(name, "sandglass.", 10) == 0) {
		path = mem_printf("lua/%s.lua", name);
		for (char *p = path + 4; p < path + strlen(path) - 4; p++)
			*p = *p == '.' ? '/' : *p;
	} else {
		path = mem_printf("tests/lua/%s%s", name, strstr(name, ".lua") ? "" : ".lua");
	}
	text = fake_source(path);
	json_t *answer = text ? value(json_pack("{s:s,s:s}", "text", text, "path", path))
			      : failure("io", "no file ", path);
	free(text);
	free(path);
	return answer;
}

static json_t *op_store(struct fake *f, const char *op, const json_t *args)
{
	char *key = mem_printf("%s/%s", json_str(args, "store", ""), json_str(args, "key", ""));
	json_t *have = json_object_get(f->store, key), *v = json_object_get(args, "value"),
	       *out = json_object();
	if (strcmp(op, "store.get") == 0) {
		if (have)
			json_object_set(out, "value", have);
	} else if (strcmp(op, "store.set") == 0) {
		if (v)
			json_object_set(f->store, key, v);
		else
			json_object_del(f->store, key);
	} else if (strcmp(op, "store.add") == 0) {
		if (json_is_integer(v)) {
			json_object_set_new(
				f->store, key,
				json_integer(json_integer_value(have) + json_integer_value(v)));
		} else {
			if (!json_is_array(have))
				json_object_set_new(f->store, key, json_array());
			json_array_append(json_object_get(f->store, key), v);
		}
		json_object_set(out, "value", json_object_get(f->store, key));
	} else {
		json_t *list = json_array();
		const char *k;
		size_t prefix = strlen(key);
		json_object_foreach(f->store, k, v)
		{
			if (strncmp(k, key, prefix) != 0)
				continue;
			char *text = json_dump_str(v);
			if (strcmp(op, "store.keys") == 0)
				json_array_append_new(list, json_string(k + prefix));
			else if (strstr(text, json_str(args, "text", "")))
				json_array_append_new(list, json_pack("{s:s,s:O}", "key",
								      k + prefix, "value", v));
			free(text);
		}
		json_object_set_new(out, strcmp(op, "store.keys") == 0 ? "keys" : "items", list);
	}
	free(key);
	return value(out);
}

static json_t *op_ask(const json_t *args)
{
	json_t *def = json_object_get(args, "default"), *choices = json_object_get(args, "choices"),
	       *v = json_object();
	if (def)
		json_object_set(v, "choice", def);
	else if (json_array_size(choices))
		json_object_set(v, "choice", json_array_get(choices, 0));
	json_put_str(v, "by", "tester");
	json_put_str(v, "text", "");
	return value(v);
}

static json_t *usual(struct fake *f, const char *op, const json_t *args)
{
	if (strncmp(op, "box.", 4) == 0 && strcmp(op, "box.open") != 0 && !box_dir(f, args))
		return failure("backend", "no such box", "");
	if (strcmp(op, "module") == 0)
		return op_module(f, args);
	if (strcmp(op, "box.open") == 0)
		return op_box_open(f, args);
	if (strcmp(op, "box.fork") == 0)
		return new_box(f, json_str(args, "name", "fork"), box_dir(f, args));
	if (strcmp(op, "box.exec") == 0)
		return value(run_command(box_dir(f, args), args));
	if (strcmp(op, "box.read") == 0 || strcmp(op, "box.write") == 0 ||
	    strcmp(op, "box.edit") == 0)
		return op_box_file(f, op, args);
	if (strcmp(op, "box.diff") == 0)
		return op_diff(f, args);
	if (strcmp(op, "box.glob") == 0)
		return op_glob(f, args);
	if (strncmp(op, "store.", 6) == 0)
		return op_store(f, op, args);
	if (strcmp(op, "ask") == 0)
		return op_ask(args);
	if (strcmp(op, "sleep") == 0)
		return value(json_object());
	if (strcmp(op, "model.call") == 0) {
		json_t *reply = json_object_get(args, "reply");
		return reply ? value(json_incref(reply))
			     : failure("model", "no such model: ", json_str(args, "model", ""));
	}
	if (strcmp(op, "agent.start") == 0)
		return value(json_pack("{s:I}", "agent", (json_int_t)++f->ids));
	if (strcmp(op, "budget.new") == 0)
		return value(json_pack("{s:I}", "budget", (json_int_t)++f->ids));
	if (strcmp(op, "budget.left") == 0)
		return value(json_pack("{s:i,s:i}", "uusd", 1500000, "steps", 7));
	static const char *const plain[] = { "agent.turn", "agent.end",	   "tool.call",
					     "notify",	   "box.freeze",   "box.thaw",
					     "box.close",  "box.merge",	   "box.put",
					     "box.get",	   "box.snapshot", "box.rollback",
					     "host.push",  "shell.close",  "shell.send" };
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (strcmp(plain[i], op) == 0)
			return value(json_pack("{s:I}", "event", (json_int_t)++f->ids));
	return failure("script", "no operation ", op);
}

#endif
