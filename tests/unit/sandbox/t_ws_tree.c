/* Raw git trees: every byte as a name, git's order, edits against a rebuilt tree, git itself as the judge. */
#include "sandbox/workspace/tree.h"

#include "ws_box.h"

static struct memstore *mem;
static struct ws_store st;

static struct object_id blob(const char *text)
{
	struct object_id id;
	st.add(st.self, OBJECT_BLOB, text, strlen(text), &id);
	return id;
}

static bool count_fn(void *self, const char *path, size_t len, unsigned mode, const struct object_id *oid, struct err *err)
{
	(void)path, (void)len, (void)mode, (void)oid, (void)err;
	++*(int *)self;
	return true;
}

static int count(const struct object_id *root)
{
	struct err err = ERR_INIT;
	int n = 0;
	return tree_each(&st, root, false, count_fn, &n, &err) < 0 ? -1 : n;
}

static void every_byte(void)
{
	struct err err = ERR_INIT;
	struct tree_edit e[254 * 2];
	char name[254 * 2][4];
	size_t nr = 0;
	struct object_id id = blob("x"), root, again, found;
	for (int c = 1; c < 256; c++) {
		if (c == '/')
			continue;
		name[nr][0] = (char)c;
		e[nr] = (struct tree_edit){ .path = name[nr], .len = 1, .mode = 0100644, .oid = id };
		nr++;
	}
	is_int(nr, 254, "254 names of one byte");
	is_int(tree_edit(&st, NULL, e, nr, &root, &err), 0, "a tree of them");
	is_int(count(&root), 254, "all are there");
	unsigned mode;
	int missing = 0;
	for (int c = 1; c < 256; c++) {
		char k = (char)c;
		missing += c != '/' && tree_find(&st, &root, &k, 1, &mode, &found, &err) != 1;
	}
	is_int(missing, 0, "each can be found");
	static const char *const hostile[] = { ".git", ".GIT", "git~1", ".git ", ".git. .", ".git::$INDEX_ALLOCATION",
					       "..", ".", "a\nb", "\xff\xfe", "con", "-rf", "*" };
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		e[i] = (struct tree_edit){ .path = hostile[i], .len = strlen(hostile[i]), .mode = 0100755, .oid = id };
	is_int(tree_edit(&st, &root, e, ARRAY_LEN(hostile), &again, &err), 0, "names that libraries refuse");
	is_int(count(&again), 254 - 2 + (int)ARRAY_LEN(hostile), "are added ('.' and '*' were there)");
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		if (strcmp(hostile[i], ".") != 0 && strcmp(hostile[i], "*") != 0)
			e[i].mode = 0;
		else
			e[i].mode = 0100644;
	is_int(tree_edit(&st, &again, e, ARRAY_LEN(hostile), &found, &err), 0, "and removed");
	ok(!memcmp(&found, &root, sizeof(root)), "which gives the first tree again");
}

/* Random edits, and the same set of files built at once: the same name. */
static void edits_agree(void)
{
	static const char *const part[] = { "a", "b", "a.b", "a-", "ab", "a0", "A" };
	struct err err = ERR_INIT;
	struct object_id root = { 0 };
	char path[400][24];
	bool have[7][7][8] = { 0 };
	int bad = 0;
	srand(7);
	for (int round = 0; round < 50; round++) {
		struct tree_edit e[40];
		for (size_t i = 0; i < ARRAY_LEN(e); i++) {
			int x = rand() % 7, y = rand() % 7, z = rand() % 7;
			bool on = rand() % 3 != 0;
			snprintf(path[i], sizeof(path[i]), "%s/%s/%s.f", part[x], part[y], part[z]);
			e[i] = (struct tree_edit){ .path = path[i], .len = strlen(path[i]), .mode = on ? 0100644 : 0,
						   .oid = blob(path[i]) };
			have[x][y][z] = on;
		}
		bad += tree_edit(&st, &root, e, ARRAY_LEN(e), &root, &err) < 0;
		struct tree_edit all[343];
		size_t nr = 0;
		for (int x = 0; x < 7; x++)
			for (int y = 0; y < 7; y++)
				for (int z = 0; z < 7; z++)
					if (have[x][y][z]) {
						snprintf(path[nr], sizeof(path[nr]), "%s/%s/%s.f", part[x], part[y], part[z]);
						all[nr] = (struct tree_edit){ .path = path[nr], .len = strlen(path[nr]),
									      .mode = 0100644, .oid = blob(path[nr]) };
						nr++;
					}
		struct object_id whole;
		bad += tree_edit(&st, NULL, all, nr, &whole, &err) < 0 || memcmp(&whole, &root, sizeof(root)) != 0;
	}
	is_int(bad, 0, "50 rounds of edits give what building it at once gives");
}

static void against_git(void)
{
	struct err err = ERR_INIT;
	char dir[] = "/tmp/sandglass-tree-XXXXXX";
	if (!mkdtemp(dir))
		return;
	sh_in(dir, "git init -q .; mkdir -p a/b a.b 'a b' a-; for f in a/b/1 a/2 a.b/3 'a b/4' a-/5 a0 B; do echo $f > \"$f\"; done;"
		   "chmod +x a0; ln -s a0 link; git add -A; git write-tree > tree");
	char *file = mem_printf("%s/tree", dir);
	struct buf hex = BUF_INIT;
	is_int(file_read(file, &hex, 100, &err), 0, "git wrote a tree");
	struct tree_edit e[] = {
		{ "a/b/1", 5, 0100644, blob("a/b/1\n") }, { "a/2", 3, 0100644, blob("a/2\n") },
		{ "a.b/3", 5, 0100644, blob("a.b/3\n") }, { "a b/4", 5, 0100644, blob("a b/4\n") },
		{ "a-/5", 4, 0100644, blob("a-/5\n") },	  { "a0", 2, 0100755, blob("a0\n") },
		{ "B", 1, 0100644, blob("B\n") },	  { "link", 4, 0120000, blob("a0") },
	};
	struct object_id root;
	char ours[41];
	is_int(tree_edit(&st, NULL, e, ARRAY_LEN(e), &root, &err), 0, "the same by us");
	object_hex(&root, ours);
	if (hex.len > 40)
		hex.data[40] = 0;
	is_str(ours, buf_cstr(&hex), "has the name that git gives it");
	buf_release(&hex);
	free(file);
	is_int(dir_remove(dir, &err), 0, "clean");
}

static void broken(void)
{
	struct err err = ERR_INIT;
	static const struct {
		const char *what, *bytes;
		size_t len;
	} cases[] = {
		{ "no mode", " a\0aaaaaaaaaaaaaaaaaaaa", 23 },
		{ "no name", "100644 \0aaaaaaaaaaaaaaaaaaaa", 28 },
		{ "a slash in a name", "100644 a/b\0aaaaaaaaaaaaaaaaaaaa", 31 },
		{ "cut off", "100644 a\0aaaaaaaaaaaaaaaaaaa", 28 },
		{ "a name twice", "100644 a\0aaaaaaaaaaaaaaaaaaaa100755 a\0aaaaaaaaaaaaaaaaaaaa", 58 },
		{ "out of order", "100644 b\0aaaaaaaaaaaaaaaaaaaa100644 a\0aaaaaaaaaaaaaaaaaaaa", 58 },
		{ "a letter in the mode", "10064x a\0aaaaaaaaaaaaaaaaaaaa", 29 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t pos = 0;
		struct tree_entry e;
		int rc;
		while ((rc = tree_next(cases[i].bytes, cases[i].len, &pos, &e, &err)) > 0)
			;
		ok(rc < 0 && err.code == ERR_DAMAGED, "refused: %s", cases[i].what);
	}
}

static bool note_diff(void *self, const char *path, size_t len, unsigned am, const struct object_id *a, unsigned bm,
		      const struct object_id *b, struct err *err)
{
	(void)a, (void)b, (void)err;
	buf_printf(self, "%.*s %o %o;", (int)len, path, am, bm);
	return true;
}

static void differences(void)
{
	struct err err = ERR_INIT;
	struct object_id x, y, id = blob("1"), id2 = blob("2");
	struct tree_edit a[] = { { "d/f", 3, 0100644, id }, { "g", 1, 0100644, id }, { "same/x", 6, 0100644, id } };
	struct tree_edit b[] = { { "d", 1, 0100644, id }, { "g", 1, 0100644, id2 }, { "same/x", 6, 0100644, id }, { "n/n", 3, 0120000, id } };
	struct buf out = BUF_INIT;
	ok(tree_edit(&st, NULL, a, 3, &x, &err) == 0 && tree_edit(&st, NULL, b, 4, &y, &err) == 0, "two trees");
	is_int(tree_diff(&st, &x, &y, note_diff, &out, &err), 0, "are compared");
	is_str(buf_cstr(&out), "d 0 100644;d/f 100644 0;g 100644 100644;n/n 0 120000;", "a file for a directory gives both");
	buf_release(&out);
}

int main(void)
{
	hash_init();
	mem = memstore_new(NULL);
	st = memstore_store(mem);
	every_byte();
	edits_agree();
	against_git();
	broken();
	differences();
	memstore_free(&mem);
	return done_testing();
}
