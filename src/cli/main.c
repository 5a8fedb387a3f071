/* sandglass: everything begins in cli/lib/cmd.c. */
#include <string.h>

#include "cli/lib/cmd.h"
#include "base/hash.h"
#include "base/log.h"
#include "sandbox/workspace/merge.h"

int main(int argc, char **argv)
{
	hash_init();
	log_open("sandglass");
	if (argc == 2 && !strcmp(argv[1], "--git-child")) /* merge.h, rule 5 */
		return git_child_main(3);
	return cmd_main(argc, argv, stdout, stderr);
}
