#include "sandbox/vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/common/driver_options.h"
#include "sandbox/stream/stream_backend.h"
#include "sandbox/guest/guest_drive.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/vm/vm_boot.h"
#include "wire/machine.h"

#define QEMU "/usr/bin/qemu-system-x86_64"

enum {
	MEM_DEFAULT = 1 << 30,
	LINE_LONGEST = 1000,
	KVM_LATE_MS = 15000,  /* with KVM a machine is up within two seconds, or never */
	TCG_LATE_MS = 180000, /* on a machine with much to do */
};
static const int64_t disk_default = 8LL << 30;

/* The descriptors of QEMU, as start has them in order. */
enum { FD_CONSOLE = 1, FD_ERRORS, FD_PORT, FD_KERNEL, FD_INITRD, FD_DISK };

struct vm {
	struct far f; /* first */
	struct vm_boot boot;
	struct err made; /* by the worker */
	bool kvm, only;	 /* how it is tried now; only so */
	bool working, running, left, heard, late;
	int pidfd, port, console;
	struct loop_fd *watch_port, *watch_console;
	struct loop_timer *patience;
	struct buf line;
	char *last; /* line of the console */
};

/* True after a failure of KVM, which is then not tried again while this program runs. */
static bool kvm_fails;

static struct vm *vm_of(struct far *f)
{
	return CONTAINER_OF(f, struct vm, f);
}

/* --- options --- */

static int take_image(struct vm *v, const struct box_opts *o, struct err *err)
{
	const json_t *image = json_object_get(o->driver, "image");
	const char *dir = json_is_object(image) ? json_str(image, "dir", NULL) : NULL;
	if (!image || json_is_null(image))
		return 0;
	if (!dir)
		return err_set(
			err, ERR_INVALID,
			"backend vm: expected a directory with a root file system: image = { dir = \"rootfs\" }");
	v->boot.image = realpath(dir, NULL);
	if (!v->boot.image)
		return err_sys(err, "can't use the image '%s'", dir);
	if (path_holds(v->boot.image, getenv("HOME")) || path_holds(v->boot.image, o->state_dir))
		return err_set(
			err, ERR_INVALID,
			"the image '%s' would show your own files to the sandbox; name a directory that "
			"holds only a root file system",
			dir);
	return 0;
}

static int vm_take_opts(struct far *f, const struct box_opts *o, struct err *err)
{
	struct vm *v = vm_of(f);
	const char *accel = json_str(o->driver, "accel", NULL);
	v->boot.kernel_fd = v->boot.initrd_fd = v->boot.disk_fd = v->pidfd = v->port = v->console =
		-1;
	if (driver_options_check(o, "vm", "image, kernel, modules, accel", "copy_of", err) < 0)
		return -1;
	if (accel && strcmp(accel, "kvm") != 0 && strcmp(accel, "tcg") != 0)
		return err_set(err, ERR_INVALID,
			       "backend vm: accel: expected \"kvm\" or \"tcg\", got \"%.60s\"",
			       accel);
	if (!launcher_current())
		return err_set(err, ERR_UNSUPPORTED, "the launcher is not running");
	if (access(QEMU, X_OK) < 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "program '%s' not found; install qemu-system-x86", QEMU);
	v->only = accel != NULL;
	v->kvm = accel ? strcmp(accel, "kvm") == 0 : !kvm_fails && access("/dev/kvm", F_OK) == 0;
	v->boot.kernel = json_str(o->driver, "kernel", NULL)
				 ? mem_strdup(json_str(o->driver, "kernel", ""))
				 : NULL;
	v->boot.modules = json_str(o->driver, "modules", NULL)
				  ? mem_strdup(json_str(o->driver, "modules", ""))
				  : NULL;
	v->boot.disk = path_join(o->state_dir, "vm.disk");
	v->boot.disk_bytes = o->limits.disk_bytes > 0 ? o->limits.disk_bytes : disk_default;
	if (take_image(v, o, err) < 0)
		return -1;
	return vm_boot_find(&v->boot, err);
}

/* --- the console --- */

static void vm_on_line(struct vm *v)
{
	if (v->line.len) {
		stream_backend_progress(&v->f, "%s", buf_cstr(&v->line));
		free(v->last);
		v->last = mem_strdup(buf_cstr(&v->line));
	}
	buf_reset(&v->line);
}

static void on_console(void *self, int fd, unsigned events)
{
	struct vm *v = self;
	char bytes[2048];
	(void)events;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || v->line.len >= LINE_LONGEST)
			vm_on_line(v);
		if ((unsigned char)bytes[i] >= ' ' || bytes[i] == '\t')
			buf_putc(&v->line, bytes[i]);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		loop_fd_free(&v->watch_console);
}

/* --- starting --- */

static void vm_start(struct vm *v);

static void kill_it(struct vm *v)
{
	if (v->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, v->pidfd, SIGKILL, NULL, 0);
}

/* Until the box is open: a machine may greet and hang then. */
static void vm_too_late(void *self)
{
	struct vm *v = self;
	if (v->f.open)
		return;
	stream_backend_progress(&v->f, "the virtual machine doesn't answer; it was stopped");
	v->late = true;
	kill_it(v);
}

/* The first byte is the guest's greeting; before it, a machine that does not come up may be tried
 * in another way. */
static void on_port(void *self, int fd, unsigned events)
{
	struct vm *v = self;
	char byte;
	(void)events;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_fd_free(&v->watch_port);
	if (n <= 0)
		return; /* the machine ends, too */
	loop_timer_set(v->patience, TCG_LATE_MS, 0);
	v->heard = true;
	v->port = -1;
	stream_backend_connected(&v->f, fd);
}

static void vm_settle(struct vm *v)
{
	loop_fd_free(&v->watch_port);
	loop_timer_free(&v->patience);
	fd_close(&v->port);
	fd_close(&v->pidfd);
	v->running = v->late = false;
}

static void vm_on_started(void *self, int pid, int pidfd)
{
	struct vm *v = self;
	(void)pid;
	v->pidfd = pidfd;
	if (v->left || v->late)
		kill_it(v);
}

static void vm_over(struct vm *v, const struct err *why)
{
	if (v->watch_console) /* what it has said at the end */
		on_console(v, v->console, LOOP_READ);
	vm_on_line(v);
	loop_fd_free(&v->watch_console);
	fd_close(&v->console);
	vm_settle(v);
	if (v->left) {
		stream_backend_gone(&v->f);
	} else if (v->kvm && !v->only && !v->heard) {
		kvm_fails = true;
		v->kvm = false;
		stream_backend_progress(
			&v->f,
			"KVM can't start the virtual machine (%s); it is emulated, which is slow",
			v->last ? v->last : "no word of it");
		vm_start(v);
	} else if (!v->f.open) {
		stream_backend_fail(&v->f, why);
	}
}

static void vm_on_exit_of(void *self, int code, int signal)
{
	struct vm *v = self;
	struct err err = ERR_INIT;
	(void)code;
	(void)signal;
	vm_on_line(v);
	err_set(&err, ERR_UNSUPPORTED, "the virtual machine doesn't start: %.300s",
		v->last ? v->last : "no output");
	vm_over(v, &err);
}

static void vm_on_failed(void *self, const struct err *err)
{
	struct err why = *err;
	vm_over(self, &why);
}

static void vm_command(const struct vm *v, struct strv *argv)
{
	const struct box_limits *l = &v->f.limits;
	CLEANUP(free_ptr)
	char *mem = mem_printf("%lldM",
			       (long long)((l->mem_bytes > 0 ? l->mem_bytes : MEM_DEFAULT) >> 20));
	CLEANUP(free_ptr)
	char *cpus = mem_printf("%lld",
				(long long)((l->cpu_milli > 0 ? l->cpu_milli + 999 : 1000) / 1000));
	CLEANUP(buf_release) struct buf share = BUF_INIT;
	buf_puts(&share, "local,id=root,path=");
	for (const char *p = v->boot.image ? v->boot.image : "/usr"; *p; p++)
		/* QEMU's way to write one */
		buf_puts(&share, *p == ',' ? ",," : (const char[]){ *p, 0 });
	buf_puts(&share, ",security_model=none,readonly=on");
	CLEANUP(free_ptr)
	char *append =
		mem_printf("console=ttyS0 quiet panic=-1 " MACHINE_ROOT "=%s -- " MACHINE_OPTION,
			   v->boot.image ? "image" : "usr");
	const char *const words[] = {
		"qemu-system-x86_64",
		"-nodefaults",
		"-no-user-config",
		"-no-reboot",
		"-display",
		"none",
		"-M",
		"pc",
		"-accel",
		v->kvm ? "kvm" : "tcg",
		"-cpu",
		v->kvm ? "host" : "max",
		"-m",
		mem,
		"-smp",
		cpus,
		"-kernel",
		"/proc/self/fd/4",
		"-initrd",
		"/proc/self/fd/5",
		"-append",
		append,
		"-chardev",
		"stdio,id=console,signal=off",
		"-serial",
		"chardev:console",
		"-chardev",
		"socket,id=port,fd=3",
		"-device",
		"virtio-serial-pci",
		"-device",
		"virtserialport,chardev=port,name=sandglass",
		"-drive",
		"file=/proc/self/fd/6,if=none,id=disk,format=raw,cache=unsafe",
		"-device",
		"virtio-blk-pci,drive=disk",
		"-fsdev",
		buf_cstr(&share),
		"-device",
		v->boot.image ? "virtio-9p-pci,fsdev=root,mount_tag=image"
			      : "virtio-9p-pci,fsdev=root,mount_tag=usr",
		"-device",
		"virtio-rng-pci",
		/* code that takes over the emulator finds that it can do little */
		"-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		strv_push(argv, words[i]);
}

static int vm_spawn(struct vm *v, struct err *err)
{
	static const struct launcher_host_ops ops = { .on_started = vm_on_started,
						      .on_exit = vm_on_exit_of,
						      .on_failed = vm_on_failed };
	static char *const env[] = { (char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin",
				     NULL };
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	int pair[2], console[2];
	if (pipe2(console, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe for the virtual machine");
	v->console = console[0];
	if (fd_nonblock(v->console, err) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		fd_close(&console[1]);
		return err_sys(err, "can't create a socket for the virtual machine");
	}
	v->port = pair[0];
	vm_command(v, &argv);
	const int fds[] = { -1,
			    [FD_CONSOLE] = console[1],
			    [FD_ERRORS] = console[1],
			    [FD_PORT] = pair[1],
			    [FD_KERNEL] = v->boot.kernel_fd,
			    [FD_INITRD] = v->boot.initrd_fd,
			    [FD_DISK] = v->boot.disk_fd };
	v->running = true;
	launcher_spawn_host(launcher_current(), QEMU, argv.item, env, fds, ARRAY_LEN(fds), &ops, v);
	fd_close(&pair[1]);
	fd_close(&console[1]);
	return fd_nonblock(v->port, err);
}

static void vm_start(struct vm *v)
{
	struct err err = ERR_INIT;
	if (vm_spawn(v, &err) < 0) {
		stream_backend_fail(&v->f, &err);
		return;
	}
	v->watch_port = loop_fd_new(v->f.loop, v->port, LOOP_READ, on_port, v);
	v->watch_console = loop_fd_new(v->f.loop, v->console, LOOP_READ, on_console, v);
	v->patience = loop_timer_new(v->f.loop, vm_too_late, v);
	loop_timer_set(v->patience, v->kvm ? KVM_LATE_MS : TCG_LATE_MS, 0);
}

static void make_work(void *self)
{
	struct vm *v = self;
	(void)!vm_boot_make(&v->boot, &v->made);
}

static void vm_made(void *self)
{
	struct vm *v = self;
	v->working = false;
	if (v->left)
		stream_backend_gone(&v->f);
	else if (v->made.code)
		stream_backend_fail(&v->f, &v->made);
	else
		vm_start(v);
}

static void connect_vm(struct far *f)
{
	struct vm *v = vm_of(f);
	f->root = mem_strdup("");
	f->tool = mem_strdup(MACHINE_TOOL);
	stream_backend_progress(f, "starting a virtual machine with %s%s", v->boot.kernel,
				v->kvm ? "" : ", emulated");
	v->boot.uid = f->uid;
	v->boot.gid = f->gid;
	v->working = true;
	loop_job_run(f->loop, make_work, vm_made, v);
}

/* --- the end --- */

static void vm_gone(void *self)
{
	stream_backend_gone(self);
}

static void leave_vm(struct far *f)
{
	struct vm *v = vm_of(f);
	v->left = true;
	loop_timer_free(&v->patience);
	if (v->running)
		kill_it(v); /* on_exit_of follows */
	else if (!v->working)
		loop_defer(f->loop, vm_gone, f);
}

static void release_vm(struct far *f)
{
	struct vm *v = vm_of(f);
	if (launcher_current())
		launcher_forget(launcher_current(), v);
	vm_settle(v);
	loop_fd_free(&v->watch_console);
	fd_close(&v->console);
	buf_release(&v->line);
	free(v->last);
	vm_boot_release(&v->boot);
}

static bool explain_vm(struct far *f)
{
	kill_it(vm_of(f));	  /* it may hang */
	return vm_of(f)->running; /* its end comes, and with it what it has to say */
}

static void describe_vm(struct far *f, json_t *to)
{
	const struct vm *v = vm_of(f);
	json_put_str(to, "kernel", v->boot.kernel);
	json_put_str(to, "accel", v->kvm ? "kvm" : "tcg");
	json_put_str(to, "root", v->boot.image ? v->boot.image : "/usr");
}

static const struct far_kind vm_kind = {
	.driver = &driver_vm,
	.folder = "vm",
	.wall = FAR_OWN,
	.profile = "vm",
	.options = vm_take_opts,
	.connect = connect_vm,
	.leave = leave_vm,
	.explain = explain_vm,
	.describe = describe_vm,
	.release = release_vm,
};

static struct box *vm_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self)
{
	return stream_backend_open(&vm_kind, sizeof(struct vm), l, o, done, self);
}

static json_t *vm_probe(void)
{
	json_t *r = json_object();
	struct vm_boot b = { .kernel_fd = -1, .initrd_fd = -1, .disk_fd = -1 };
	struct err err = ERR_INIT;
	json_put_str(r, "profile", "vm");
	if (access(QEMU, X_OK) < 0) {
		json_put_str(r, "why", "no program qemu-system-x86_64");
		json_put_str(r, "fix", "install qemu-system-x86");
	} else if (vm_boot_find(&b, &err) < 0) {
		json_put_str(r, "why", err.text);
		json_put_str(r, "fix", "install linux-image-amd64, or name kernel= and modules=");
	} else {
		json_put_str(r, "value",
			     access("/dev/kvm", R_OK | W_OK) == 0
				     ? "KVM is tried first"
				     : "emulated: no permission for /dev/kvm");
	}
	json_put_flag(r, "ok", !json_object_get(r, "why"));
	vm_boot_release(&b);
	return r;
}

static void vm_oom(struct box *b, box_done_fn *done, void *self)
{
	guest_oom(CONTAINER_OF(b, struct far, b)->guest, done, self);
}

const struct driver driver_vm = {
	.name = "vm",
	.about = "a virtual machine (QEMU; with KVM if available, else emulated)",
	.caps = FAR_CAPS,
	.probe = vm_probe,
	.open = vm_open,
	.oom = vm_oom,
	FAR_VERBS,
};
