/* A sandbox from open to close: its contents, its isolation, and its remains. */
#include "box_fixture.h"

static void opens_and_runs(void)
{
	CLEANUP(free_ptr) char *repo = fx_path("repo");
	json_t *result = NULL;
	fx_file(repo, "src/a.c", "int a;\n", 0600);
	struct box *b = fx_box("first", repo, &result);
	ok(b != NULL, "a box opens");
	if (!b)
		return;
	char *text = json_dump_str(result);
	printf("# %s\n", text);
	free(text);
	out_is(b, "echo hi", "hi", "echo hi");
	out_is(b, "cat src/a.c", "int a;", "a file of the repository is readable");
	out_is(b, "echo more >>src/a.c; echo new >b; cat src/a.c b", "int a;\nmore\nnew", "and can be changed");
	out_is(b, "id -u; id -un; pwd; echo $HOME", "1000\nagent\n/workspace\n/home/agent", "it is the agent's");
	struct answer a = { 0 };
	b->driver->read(b, "src/a.c", 1 << 20, fx_done, &a);
	fx_wait(&a.here);
	is_str(json_str(a.result, "data", ""), "int a;\nmore\n", "the keeper reads what the box wrote");
	json_release(&a.result);
	CLEANUP(buf_release) struct buf host = BUF_INIT;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = path_join(repo, "src/a.c");
	ok(file_read(path, &host, 100, &err) == 0, "the repository is there");
	is_str(buf_cstr(&host), "int a;\n", "and unchanged");
	ok(fx_close(b), "closed: its namespace and cgroup are empty");
	json_release(&result);
}

int main(void)
{
	fx_start();
	fx_need_namespaces();
	opens_and_runs();
	return fx_end();
}
