/* What a copied workspace has not: the verbs of an overlay. */
#include "sandbox/folder.h"

json_t *folder_tree_list(struct box *b, size_t i, const char *which, const char *path, struct err *err)
{
	(void)b;
	(void)i;
	(void)which;
	(void)path;
	err_set(err, ERR_UNSUPPORTED, "what cannot be listed in the copy of a workspace nobody can list");
	return NULL;
}

int folder_tree_rotate(struct box *b, struct err *err)
{
	(void)b;
	return err_set(err, ERR_UNSUPPORTED, "the workspace is a copy: there is no overlay to rotate");
}

json_t *folder_tree_lowers(struct box *b)
{
	(void)b;
	return NULL;
}

bool folder_tree_overlay(struct box *b)
{
	(void)b;
	return false;
}
