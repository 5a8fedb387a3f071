/* sandglass: everything begins in cli/lib/cmd.c. */
#include "catalog/catalog.h"
#include "cli/lib/cmd.h"
#include "base/hash.h"
#include "base/log.h"
#include "record/catalog_forget.h"

int main(int argc, char **argv)
{
	hash_init();
	log_open("sandglass");
	catalog_forget_with(catalog_without);
	return cmd_main(argc, argv, stdout, stderr);
}
