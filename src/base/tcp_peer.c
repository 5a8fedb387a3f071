#include "base/tcp_peer.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

/* a table that changes while it is read may lack a line */
enum { TABLE_MAX = 64 << 20, TRIES = 3 };

/* A line: "N: HERE PEER STATE TX:RX TR:WHEN RETRANSMITS UID TIMEOUT INODE ...". Without an inode
 * nobody holds the socket, and the uid is always 0. */
static bool in_table(const char *path, const char *ends, uid_t *uid_out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	unsigned uid;
	unsigned long inode;
	if (file_read(path, &text, TABLE_MAX, &none) < 0)
		return false;
	const char *line = strstr(buf_cstr(&text), ends);
	if (!line || sscanf(line + strlen(ends), "%*x %*s %*s %*s %u %*d %lu", &uid, &inode) != 2 ||
	    !inode)
		return false;
	*uid_out = (uid_t)uid;
	return true;
}

int tcp_peer_uid(int sock, uid_t *uid_out, struct err *err)
{
	struct sockaddr_in here = { 0 }, peer = { 0 };
	socklen_t len = sizeof(here), peer_len = sizeof(peer);
	if (getsockname(sock, (struct sockaddr *)&here, &len) < 0 ||
	    getpeername(sock, (struct sockaddr *)&peer, &peer_len) < 0)
		return err_sys(err, "can't find the process at the other end");
	char four[64], six[128];
	snprintf(four, sizeof(four), ": %08X:%04X %08X:%04X ", peer.sin_addr.s_addr,
		 ntohs(peer.sin_port), here.sin_addr.s_addr, ntohs(here.sin_port));
	snprintf(six, sizeof(six), ": %016X%08X%08X:%04X %016X%08X%08X:%04X ", 0U, htonl(0xffff),
		 peer.sin_addr.s_addr, ntohs(peer.sin_port), 0U, htonl(0xffff),
		 here.sin_addr.s_addr, ntohs(here.sin_port));
	for (int i = 0; i < TRIES; i++)
		if (in_table("/proc/self/net/tcp", four, uid_out) ||
		    in_table("/proc/self/net/tcp6", six, uid_out))
			return 0;
	return err_set(err, ERR_NOENT, "no process holds the other end of the connection");
}
