/* A recorder's start and end: a new session, a resumed one, a clean close. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "record/copies_left.h"
#include "record/record_priv.h"
#include "record/read/session.h"
#include "record/key.h"
#include "record/read/lease.h"
#include "record/read/schema.h"

enum { RESERVE = 16 << 20, QUIET_MS = 60000, NAME_MAX_BYTES = 48 };
enum { INDEX_US = 2000000, INDEX_BYTES = 4 << 20 }; /* at the end */

static const struct record_fixed *record_open_fixed;
static struct secrets *record_open_hidden;

void record_fix(const struct record_fixed *f)
{
	record_open_fixed = f;
}

void record_hide(const struct secrets *s)
{
	secrets_free(&record_open_hidden);
	record_open_hidden = s ? secrets_copy(s) : NULL;
}

int64_t record_wall_us(void)
{
	return record_open_fixed ? record_open_fixed->wall_us() : clock_wall_us();
}

int64_t record_mono_us(void)
{
	return record_open_fixed ? record_open_fixed->mono_us() : clock_mono_us();
}

int64_t record_asleep_us(void)
{
	if (record_open_fixed)
		return record_open_fixed->asleep_us ? record_open_fixed->asleep_us() : 0;
	return clock_mono_us() - clock_awake_us();
}

static int refuse_network(const char *dir, struct err *err)
{
	static const struct {
		long magic;
		const char *name;
	} table[] = { { NFS_SUPER_MAGIC, "NFS" }, { SMB_SUPER_MAGIC, "SMB" },
		      { 0xff534d42, "CIFS" },	  { 0xfe534d42, "SMB2" },
		      { 0x01021997, "9p" },	  { CODA_SUPER_MAGIC, "Coda" },
		      { AFS_SUPER_MAGIC, "AFS" }, { 0x00c36400, "Ceph" },
		      { 0x0bd00bd0, "Lustre" },	  { 0x786f4256, "vboxsf" } };
	struct statfs fs;
	if (statfs(dir, &fs) < 0)
		return err_sys(err, "can't read '%s'", dir);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((uint32_t)fs.f_type == (uint32_t)table[i].magic)
			return err_set(
				err, ERR_UNSUPPORTED,
				"'%s' is on a network file system (%s), which can't guarantee a recording: choose a local "
				"directory with --sessions DIR",
				dir, table[i].name);
	return 0;
}

/* Letters and digits of every script; no spaces, no punctuation but "_", "." and "-". */
static bool fits_name(uint32_t c, bool first)
{
	if (c < 0x80)
		return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		       c == '_' || c == '-' || (c == '.' && !first);
	bool space = c == 0x1680 || (c >= 0x2000 && c <= 0x206f) || (c >= 0x3000 && c <= 0x3003),
	     private = (c >= 0xe000 && c <= 0xf8ff) || c >= 0xe0000;
	return c >= 0xc0 && !space && !private && !text_is_hidden(c);
}

/* The part of the file's name that users chose: no separators, nothing that a shell or a terminal
 * takes amiss. */
static void clean_name(const char *name, char out[NAME_MAX_BYTES + 1])
{
	size_t n = 0, used;
	for (const char *p = name; *p; p += used) {
		uint32_t c;
		bool good = utf8_next(p, strlen(p), &c, &used) == UTF8_OK && fits_name(c, !n);
		if (n + (good ? used : 1) > NAME_MAX_BYTES)
			break;
		if (good)
			n = (size_t)((char *)mempcpy(out + n, p, used) - out);
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = 0;
	if (!n)
		strcpy(out, "session");
}

/* Six random letters and digits that cannot be mistaken for one another. */
static void make_id(char out[7])
{
	static const char set[] = "abcdefghjkmnpqrstuvwxyz23456789";
	uint8_t r[6];
	random_bytes(r, sizeof(r));
	for (size_t i = 0; i < sizeof(r); i++)
		out[i] = set[r[i] % (sizeof(set) - 1)];
	out[6] = 0;
}

/* Creates the empty file under a name that nobody has; fills r->path and r->id. */
static int record_open_make_file(struct record *r, const char *dir, const char *name,
				 struct err *err)
{
	char day[16], shown[NAME_MAX_BYTES + 1], id[7];
	time_t now = (time_t)(record_wall_us() / 1000000);
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	clean_name(name, shown);
	for (;;) {
		if (record_open_fixed && record_open_fixed->id)
			snprintf(id, sizeof(id), "%s", record_open_fixed->id);
		else
			make_id(id);
		free(r->path);
		r->path = mem_printf("%s/%s-%s-%s.glass", dir, day, shown, id);
		CLEANUP(fd_close)
		int fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			break;
		if (errno != EEXIST || (record_open_fixed && record_open_fixed->id))
			return err_sys(err, "can't create session file '%s'", r->path);
	}
	r->id = mem_printf("s-%s", id);
	return 0;
}

static void sync_dir(const char *dir)
{
	CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

/* Space that is given back when the disk is full at the end, so that closing events can always be
 * written. */
static int make_reserve(const char *path)
{
	CLEANUP(free_ptr) char *name = mem_printf("%s-reserve", path);
	CLEANUP(fd_close) int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, RESERVE) < 0) {
		unlink(name);
		/* a disk that is nearly full at the beginning, or a file system that cannot promise
		 * space */
		return -1;
	}
	int kept = fd;
	fd = -1;
	return kept;
}

static void put_machine(json_t *body)
{
	CLEANUP(buf_release) struct buf boot = BUF_INIT;
	struct err err;
	char host[256] = "";
	if (file_read("/proc/sys/kernel/random/boot_id", &boot, 64, &err) == 0 && boot.len)
		boot.data[strcspn(boot.data, "\n")] = 0;
	if (record_open_fixed && record_open_fixed->host) {
		snprintf(host, sizeof(host), "%s", record_open_fixed->host);
		buf_reset(&boot);
	} else {
		gethostname(host, sizeof(host) - 1);
	}
	json_put_str(body, "boot", buf_cstr(&boot));
	json_put_str(body, "host", host);
	json_put_str(body, "version", SANDGLASS_VERSION);
	json_put_int(body, "format", SCHEMA_FORMAT);
}

static void record_open_put_hex(json_t *o, const char *name, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, bytes, len);
	json_put_str(o, name, hex.data);
}

static void record_open_begin(struct record *r, struct loop *l, const struct record_ops *ops,
			      void *self)
{
	r->loop = l;
	r->ops = ops ? *ops : (struct record_ops){ 0 };
	r->self = self;
	r->head = r->announced = r->committed = r->durable = store_seq(r->store);
	r->clock_off = record_wall_us() - record_mono_us();
	r->asleep = record_asleep_us();
	r->secrets = secrets_copy(record_open_hidden);
	honeytoken_seen_begin(r);
	r->outputs = outputs_new();
	r->wake = loop_wake_new(l, record_on_wake, r);
	r->timer = loop_timer_new(l, outputs_on_timer, r);
	r->quiet_timer = loop_timer_new(l, record_on_quiet, r);
	loop_timer_set(r->quiet_timer, QUIET_MS, QUIET_MS);
	r->reserve = make_reserve(r->path);
	writer_start(r);
}

static void free_half(struct record **r)
{
	if (!*r)
		return;
	fd_close(&(*r)->lease);
	free((*r)->path);
	free((*r)->id);
	free(*r);
	*r = NULL;
}

static struct record *new_half(void)
{
	struct record *r = NEW(struct record);
	r->lease = r->reserve = -1;
	hash_init();
	return r;
}

/* Takes away what a failed creation has left. */
static void remove_file(const char *path)
{
	static const char *const tail[] = { "", "-wal", "-shm", "-journal", "-lease", "-reserve" };
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", path, tail[i]);
		unlink(name);
	}
}

int record_fork(const char *from, uint64_t seq, const char *dir, const char *name, char **path_out,
		struct err *err)
{
	CLEANUP(free_half) struct record *r = new_half();
	uint8_t seed[SIGN_SEED_LEN];
	struct session *src;
	if (session_open(&src, from, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *shown = mem_strdup(name ? name : session_name(src));
	CLEANUP(free_ptr) char *beside = mem_strdup(from);
	session_close(&src);
	char *slash = strrchr(beside, '/');
	if (slash)
		*slash = 0;
	const char *to = dir ? dir : slash ? beside : ".";
	if (dir_make(to, 0700, err) < 0 || refuse_network(to, err) < 0 || key_load(seed, err) < 0)
		return -1;
	if (record_open_make_file(r, to, shown, err) < 0)
		return -1;
	random_bytes(r->uuid, UUID_LEN);
	int rc = store_create(&r->store, r->path, r->id, r->uuid, shown, seed, err);
	secret_wipe(seed, sizeof(seed));
	if (rc == 0)
		rc = store_copy(r->store, from, seq, err);
	struct err none = ERR_INIT;
	if (r->store && store_close(&r->store, rc == 0, rc == 0 ? err : &none) < 0)
		rc = -1;
	if (rc < 0) {
		remove_file(r->path);
		return -1;
	}
	sync_dir(to);
	*path_out = take(&r->path);
	return 0;
}

int record_create(struct record **out, struct loop *l, const char *dir, const char *name,
		  json_t *start_body, const struct record_ops *ops, void *self, struct err *err)
{
	CLEANUP(free_half) struct record *r = new_half();
	uint8_t seed[SIGN_SEED_LEN], key[SIGN_KEY_LEN];
	if (dir_make(dir, 0700, err) < 0 || refuse_network(dir, err) < 0 || key_load(seed, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *real = realpath(dir, NULL);
	if (!real)
		return err_sys(err, "can't find '%s'", dir);
	if (record_open_make_file(r, real, name, err) < 0)
		return -1;
	random_bytes(r->uuid, UUID_LEN);
	sign_key(seed, key);
	r->lease = lease_take(r->path, NULL, err);
	int rc = r->lease < 0 ? -1
			      : store_create(&r->store, r->path, r->id, r->uuid, name, seed, err);
	secret_wipe(seed, sizeof(seed));
	if (rc < 0) {
		remove_file(r->path);
		return -1;
	}
	sync_dir(real);
	record_open_begin(r, l, ops, self);
	json_t *body = json_object();
	json_put_str(body, "id", r->id);
	record_open_put_hex(body, "uuid", r->uuid, UUID_LEN);
	json_put_str(body, "name", name);
	record_open_put_hex(body, "key", key, SIGN_KEY_LEN);
	put_machine(body);
	if (start_body)
		json_object_update_missing(body, start_body);
	record_append_json(r, EV_SESSION_START, 0, 0, 0, 0, body);
	*out = take(&r);
	return 0;
}

int record_resume(struct record **out, struct loop *l, const char *path,
		  const struct record_ops *ops, void *self, struct err *err)
{
	CLEANUP(free_half) struct record *r = new_half();
	uint8_t seed[SIGN_SEED_LEN], key[SIGN_KEY_LEN];
	if (access(path, F_OK) < 0)
		return err_sys(err, "can't open session file '%s'", path);
	r->path = realpath(path, NULL);
	if (!r->path)
		return err_sys(err, "can't find '%s'", path);
	CLEANUP(free_ptr)
	char *dir = mem_strndup(r->path, (size_t)(strrchr(r->path, '/') - r->path));
	if (refuse_network(*dir ? dir : "/", err) < 0 || key_load(seed, err) < 0)
		return -1;
	sign_key(seed, key);
	struct lease_note was;
	char torn[160] = "";
	r->lease = lease_take(r->path, &was, err);
	int rc = r->lease < 0 ? -1 : resume_check(r->path, &was, torn, sizeof(torn), err);
	if (rc == 0)
		rc = copies_draft_remove(r->path, err);
	if (rc == 0)
		rc = store_open(&r->store, r->path, seed, &r->id, r->uuid, err);
	secret_wipe(seed, sizeof(seed));
	if (rc < 0)
		return -1;
	struct store_origin from;
	if (ops && ops->copy)
		store_unanchored(r->store);
	bool known = store_origin(r->store, &from); /* before the writer has the store */
	record_open_begin(r, l, ops, self);
	json_t *body = json_object();
	bool forked = known && from.seq == r->head;
	json_put_int(body, "head", (int64_t)r->head);
	if (*torn)
		json_put_str(body, "torn", torn);
	if (forked) {
		json_put_str(body, "from", from.id);
		record_open_put_hex(body, "from_uuid", from.uuid, UUID_LEN);
		json_put_str(body, "id", r->id);
		record_open_put_hex(body, "uuid", r->uuid, UUID_LEN);
	}
	record_open_put_hex(body, "key", key, SIGN_KEY_LEN);
	put_machine(body);
	record_append_json(r, forked ? EV_SESSION_FORKED : EV_SESSION_RESUMED, 0, 0, 0, 0, body);
	*out = take(&r);
	return 0;
}

static void free_parts(struct record *r)
{
	loop_wake_free(&r->wake);
	loop_timer_free(&r->timer);
	loop_timer_free(&r->quiet_timer);
	if (r->flusher)
		r->flusher->r = NULL;
	batch_free(r->turn);
	batch_free(r->queue);
	while (r->redacted) {
		struct redact_done *next = r->redacted->next;
		free(r->redacted);
		r->redacted = next;
	}
	honeytoken_seen_end(r);
	secrets_free(&r->secrets);
	outputs_free(&r->outputs);
	lru_free(&r->pooled);
	lru_free(&r->lists);
	free(r->barrier);
	free(r->open);
	buf_release(&r->text);
	buf_release(&r->clean);
}

int record_close(struct record **rp, json_t *end_body, struct err *err)
{
	struct record *r = take(rp);
	outputs_end_all(r);
	record_append_json(r, EV_SESSION_END, 0, 0, 0, 0, end_body ? end_body : json_object());
	record_checkpoint(r);
	record_flush(r);
	pthread_mutex_lock(&r->mu);
	r->stop = true;
	pthread_mutex_unlock(&r->mu);
	writer_end(r);
	bool whole = store_seq(r->store) == r->head;
	int rc = 0;
	if (!whole)
		rc = err_set(err, record_state(r) == RECORD_STALLED ? ERR_FULL : ERR_IO,
			     "can't write the end of session '%s': %s", r->path, r->why);
	int64_t until = clock_mono_us() + INDEX_US;
	/* what is left: record/deferred_index.h */
	while (whole && clock_mono_us() < until && store_index(r->store, INDEX_BYTES))
		store_tidy(r->store, false);
	if (store_close(&r->store, whole, err) < 0)
		rc = -1;
	if (rc == 0) {
		CLEANUP(free_ptr) char *lease = mem_printf("%s-lease", r->path);
		unlink(lease);
	}
	free_parts(r);
	free_half(&r);
	return rc;
}

void record_abandon(struct record **rp)
{
	struct record *r = take(rp);
	struct err err;
	if (!r)
		return;
	pthread_mutex_lock(&r->mu);
	r->abandon = true;
	pthread_mutex_unlock(&r->mu);
	writer_end(r);
	/* nothing is promised about a session that is abandoned */
	if (store_close(&r->store, false, &err) < 0)
		err.code = ERR_NONE;
	free_parts(r);
	free_half(&r);
}
