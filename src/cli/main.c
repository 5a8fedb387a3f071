/* sandglass: everything begins in cli/lib/cmd.c. */
#include <string.h>

#include "catalog/catalog.h"
#include "cli/lib/cmd.h"
#include "base/hash.h"
#include "base/log.h"
#include "record/catalog_forget.h"
#include "sandbox/view/masks.h"
#include "sandbox/workspace/merge.h"

int main(int argc, char **argv)
{
	hash_init();
	log_open("sandglass");
	catalog_forget_with(catalog_without);
	if (argc == 2 && !strcmp(argv[1], "--git-child")) /* merge.h, rule 5 */
		return git_child_main(3, masks_name_suspect);
	return cmd_main(argc, argv, stdout, stderr);
}
