/* node, the npm package, and the directory with our files for them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/pyodide/pyodide_priv.h"

#define WANTED "314.0"
#define FETCH  "npm install --prefix ~/.local/share/sandglass/pyodide pyodide@314.0.7"

enum { PACKAGE_JSON_MAX = 1 << 20, NAME_BYTES = 8 };

/* Paths are relative to the top of the tree, where make runs. */
#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" path                              \
		"\"\n.byte 0\n.popsection\n");                                                     \
	extern const char symbol[] __attribute__((visibility("hidden")))

EMBED(pyodide_engine_mjs, "plugins/pyodide/engine.mjs");
EMBED(pyodide_engine_py, "plugins/pyodide/engine.py");

void pyodide_place_release(struct pyodide_place *p)
{
	free(p->node);
	free(p->package);
	free(p->version);
	free(p->store);
	free(p->memory);
	*p = (struct pyodide_place){ 0 };
}

static char *pyodide_find_real(const char *path)
{
	char full[PATH_MAX];
	return realpath(path, full) ? mem_strdup(full) : NULL;
}

static bool pyodide_find_runs(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *node_in_path(void)
{
	CLEANUP(free_ptr)
	char *path = mem_strdup(getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin");
	for (char *at = path, *dir; (dir = strsep(&at, ":"));) {
		CLEANUP(free_ptr) char *p = path_join(*dir == '/' ? dir : "/nowhere", "node");
		if (pyodide_find_runs(p))
			return pyodide_find_real(p);
	}
	return NULL;
}

static int find_node(const char *named, struct pyodide_place *out, struct err *err)
{
	out->node = !named		       ? node_in_path()
		    : pyodide_find_runs(named) ? pyodide_find_real(named)
					       : NULL;
	if (out->node)
		return 0;
	if (named)
		return err_set(err, ERR_NOENT, "backend pyodide: node = '%.200s' is not a program",
			       named);
	return err_set(
		err, ERR_NOENT,
		"backend pyodide: node 20 or later not found in PATH; install it, or name it with "
		"node =");
}

/* The directory two above a program: /usr/local of /usr/local/bin/node. */
static char *pyodide_find_prefix_of(const char *program)
{
	char *p = mem_strdup(program);
	for (int up = 0; up < 2 && strrchr(p, '/'); up++)
		*strrchr(p, '/') = 0;
	return p;
}

static bool pyodide_find_has(const char *folder, const char *name)
{
	CLEANUP(free_ptr) char *p = path_join(folder, name);
	return access(p, F_OK) == 0;
}

/* Not in the workspace: its author must not choose the package. */
static char *package_of_npm(const char *node)
{
	CLEANUP(free_ptr)
	char *prefix = pyodide_find_prefix_of(node),
	     *own = paths_data("pyodide/node_modules/pyodide");
	CLEANUP(free_ptr) char *beside = path_join(prefix, "lib/node_modules/pyodide");
	const char *const place[] = { own, beside, "/usr/local/lib/node_modules/pyodide",
				      "/usr/lib/node_modules/pyodide",
				      "/usr/share/nodejs/pyodide" };
	for (size_t i = 0; i < ARRAY_LEN(place); i++)
		if (pyodide_find_has(place[i], "package.json"))
			return pyodide_find_real(place[i]);
	return NULL;
}

static int find_package(const char *named, struct pyodide_place *out, struct err *err)
{
	static const char *const parts[] = { "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm",
					     "python_stdlib.zip" };
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err odd = ERR_INIT;
	out->package = named ? pyodide_find_real(named) : package_of_npm(out->node);
	if (!out->package && !named)
		return err_set(err, ERR_NOENT,
			       "backend pyodide: npm package pyodide not found: " FETCH
			       " (or name its directory with package =)");
	CLEANUP(free_ptr)
	char *about = path_join(out->package ? out->package : named, "package.json");
	CLEANUP(json_release) json_t *o = NULL;
	if (file_read(about, &text, PACKAGE_JSON_MAX, &odd) == 0)
		o = json_parse(buf_cstr(&text), text.len, about, &odd);
	if (!o || strcmp(json_str(o, "name", ""), "pyodide") != 0)
		return err_set(
			err, ERR_NOENT,
			"backend pyodide: '%.200s' is not the directory of the npm package pyodide: " FETCH,
			named ? named : out->package);
	out->version = mem_strdup(json_str(o, "version", ""));
	if (strncmp(out->version, WANTED ".", sizeof(WANTED)) != 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "backend pyodide: expected pyodide " WANTED
			       ", '%.200s' is %.40s: " FETCH,
			       out->package, out->version);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!pyodide_find_has(out->package, parts[i]))
			return err_set(err, ERR_NOENT,
				       "backend pyodide: '%.200s' has no %s: " FETCH, out->package,
				       parts[i]);
	return 0;
}

static void pyodide_find_add_file(struct hash_ctx *h, const char *folder, const char *name)
{
	CLEANUP(free_ptr) char *path = name ? path_join(folder, name) : mem_strdup(folder);
	struct stat st = { 0 };
	if (stat(path, &st) < 0)
		return;
	const int64_t of[] = { st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
	hash_add(h, path, strlen(path) + 1);
	hash_add(h, of, sizeof(of));
}

/* A memory image belongs to one package, one node and one engine. */
static char *store_of(const struct pyodide_place *p)
{
	struct hash_ctx h;
	struct hash out;
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	buf_puts(&name, "pyodide/");
	hash_begin(&h);
	hash_add(&h, pyodide_engine_mjs, strlen(pyodide_engine_mjs));
	hash_add(&h, pyodide_engine_py, strlen(pyodide_engine_py));
	pyodide_find_add_file(&h, p->node, NULL);
	pyodide_find_add_file(&h, p->package, "pyodide.mjs");
	pyodide_find_add_file(&h, p->package, "pyodide.asm.wasm");
	pyodide_find_add_file(&h, p->package, "python_stdlib.zip");
	hash_end(&h, &out);
	hex_append(&name, out.b, NAME_BYTES);
	return paths_cache(buf_cstr(&name));
}

int pyodide_find(const json_t *options, struct pyodide_place *out, struct err *err)
{
	struct pyodide_place p = { 0 };
	if (find_node(json_str(options, "node", NULL), &p, err) < 0 ||
	    find_package(json_str(options, "package", NULL), &p, err) < 0) {
		pyodide_place_release(&p);
		return -1;
	}
	p.store = store_of(&p);
	p.memory = path_join(p.store, "memory");
	*out = p;
	return 0;
}

static int pyodide_find_put(const char *folder, const char *name, const char *text, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(folder, name);
	return access(path, F_OK) == 0 ? 0 : file_write_atomic(path, text, strlen(text), 0644, err);
}

int pyodide_store(const struct pyodide_place *p, struct err *err)
{
	if (dir_make(p->store, 0755, err) < 0 ||
	    pyodide_find_put(p->store, "engine.mjs", pyodide_engine_mjs, err) < 0 ||
	    pyodide_find_put(p->store, "engine.py", pyodide_engine_py, err) < 0)
		return err_wrap(err, "backend pyodide");
	return 0;
}

json_t *pyodide_probe(void)
{
	json_t *r = json_object();
	struct pyodide_place p = { 0 };
	struct err err = ERR_INIT;
	bool there = pyodide_find(NULL, &p, &err) == 0;
	CLEANUP(free_ptr)
	char *value =
		mem_printf("Python alone (no shell, programs, processes, sockets): pyodide %s",
			   there ? p.version : "");
	json_put_flag(r, "ok", there);
	json_put_str(r, "profile", "as in process sandboxes");
	json_put_str(r, there ? "value" : "why", there ? value : err.text);
	pyodide_place_release(&p);
	return r;
}
