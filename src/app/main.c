/* sandglass: everything begins in app/cmd.c. */
#include "app/cmd.h"
#include "base/hash.h"
#include "base/log.h"

int main(int argc, char **argv)
{
	hash_init();
	log_open("sandglass");
	return cmd_main(argc, argv, stdout, stderr);
}
