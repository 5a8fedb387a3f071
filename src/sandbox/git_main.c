/* sandglass-git: opens repositories for the supervisor and for commands (workspace/merge.h, rule 5).
 * Not for users to start. The main program could do the same, but links dozens of libraries that
 * take longer to load than a merge takes. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "sandbox/view/masks.h"
#include "sandbox/workspace/merge.h"

/* Takes the place of the library's: libgit2 would read all certificates of the host at its start.
 * Nothing here connects anywhere; a connection would be refused without them. */
struct mbedtls_x509_crt;
int mbedtls_x509_crt_parse_file(struct mbedtls_x509_crt *chain, const char *path);
int mbedtls_x509_crt_parse_file(struct mbedtls_x509_crt *chain, const char *path)
{
	(void)chain;
	(void)path;
	return -1;
}

int main(void)
{
	struct stat st;
	if (fstat(MERGE_CHILD_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr,
			"sandglass-git is started by sandglass, with a socket on descriptor 3\n");
		return 2;
	}
	hash_init();
	log_open("sandglass-git");
	return git_child_main(MERGE_CHILD_FD, masks_name_suspect);
}
