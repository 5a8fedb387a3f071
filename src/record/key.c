#include "record/key.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"

static const char key_magic[] = "sandglass key 1 ";

static int key_read_key(const char *path, uint8_t seed_out[SIGN_SEED_LEN], struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(path, &text, 4096, err) < 0)
		return -1;
	size_t head = sizeof(key_magic) - 1;
	bool good = text.len >= head + SIGN_SEED_LEN * 2 && !memcmp(text.data, key_magic, head) &&
		    hex_parse(text.data + head, SIGN_SEED_LEN * 2, seed_out, SIGN_SEED_LEN);
	secret_wipe(text.data, text.len);
	if (!good)
		return err_set(err, ERR_PARSE,
			       "'%s' is not a signing key: move it away to get a new one", path);
	return 0;
}

/* link() gives the name only to a whole file, and only to the first who comes. */
static int key_make_key(const char *path, struct err *err)
{
	uint8_t seed[SIGN_SEED_LEN];
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(free_ptr) char *tmp = mem_printf("%s.%ld", path, (long)getpid());
	CLEANUP(fd_close)
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "can't create the signing key '%s'", path);
	random_bytes(seed, sizeof(seed));
	buf_puts(&text, key_magic);
	hex_append(&text, seed, sizeof(seed));
	buf_putc(&text, '\n');
	int rc = fd_write_all(fd, text.data, text.len, err);
	secret_wipe(seed, sizeof(seed));
	secret_wipe(text.data, text.len);
	if (rc == 0 && fsync(fd) < 0)
		rc = err_sys(err, "can't write '%s'", tmp);
	if (rc == 0 && link(tmp, path) < 0 && errno != EEXIST)
		rc = err_sys(err, "can't create the signing key '%s'", path);
	unlink(tmp);
	return rc;
}

int key_load(uint8_t seed_out[SIGN_SEED_LEN], struct err *err)
{
	CLEANUP(free_ptr) char *dir = paths_state("");
	CLEANUP(free_ptr) char *path = paths_state("key");
	if (access(path, F_OK) < 0 && (dir_make(dir, 0700, err) < 0 || key_make_key(path, err) < 0))
		return -1;
	return key_read_key(path, seed_out, err);
}

void anchor_line(struct buf *out, const uint8_t uuid[UUID_LEN], uint64_t seq,
		 const struct hash *chain, int64_t ts_us, const uint8_t key[SIGN_KEY_LEN],
		 const uint8_t sig[SIGN_LEN])
{
	buf_puts(out, "1 ");
	hex_append(out, uuid, UUID_LEN);
	buf_printf(out, " %" PRIu64 " ", seq);
	hex_append(out, chain->b, HASH_LEN);
	buf_printf(out, " %" PRId64 " ", ts_us);
	hex_append(out, key, SIGN_KEY_LEN);
	buf_putc(out, ' ');
	hex_append(out, sig, SIGN_LEN);
	buf_putc(out, '\n');
}

/* Each line as a message of the journal, which another user owns; some hosts have no journal. */
static void to_journal(const char *lines, size_t len)
{
	static const struct sockaddr_un at = { .sun_family = AF_UNIX,
					       .sun_path = "/run/systemd/journal/socket" };
	CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	for (const char *nl, *end = lines + len;
	     fd >= 0 && lines < end && (nl = memchr(lines, '\n', (size_t)(end - lines)));
	     lines = nl + 1) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		buf_puts(&text, "SYSLOG_IDENTIFIER=sandglass\nPRIORITY=6\nMESSAGE=");
		buf_append(&text, lines, (size_t)(nl + 1 - lines));
		if (sendto(fd, text.data, text.len, MSG_NOSIGNAL, (const struct sockaddr *)&at,
			   sizeof(at)) < 0)
			return;
	}
}

void anchor_append(const char *lines, size_t len)
{
	to_journal(lines, len);
	CLEANUP(free_ptr) char *path = paths_state("anchor.log");
	CLEANUP(fd_close)
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_DSYNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct err err = ERR_INIT;
	if (fd < 0)
		err_sys(&err, "can't open the anchor '%s'", path);
	else if (fd_write_all(fd, lines, len, &err) < 0)
		err_wrap(&err, "can't write the anchor '%s'", path);
	if (err.code != ERR_NONE)
		log_warn("%s", err.text);
}
