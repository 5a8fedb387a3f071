/* The overlay's verbs, which a copied workspace lacks. */
#include "sandbox/common/folder.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/common/layers.h"

json_t *folder_tree_list(struct box *b, size_t i, const char *which, const char *path,
			 struct err *err)
{
	(void)b;
	(void)i;
	(void)which;
	(void)path;
	err_set(err, ERR_UNSUPPORTED, "this directory of a copied workspace can't be listed");
	return NULL;
}

json_t *folder_tree_seed(const struct folder *f, const struct layers *l)
{
	const char *root = folder_root(f);
	if (!root)
		return NULL;
	json_t *options = json_object(), *all = json_object();
	for (size_t i = 0; i < l->nr; i++) {
		const char *name = l->item[i].name;
		CLEANUP(free_ptr)
		char *path = !strcmp(name, ":home") ? mem_printf("%s/home", root)
			     : *name		    ? mem_printf("%s/workspace/%s", root, name)
						    : mem_printf("%s/workspace", root);
		json_put(all, name, json_bytes_z(path));
	}
	json_put(options, "copy_of", all);
	return options;
}

bool folder_tree_overlay(struct box *b)
{
	(void)b;
	return false;
}
