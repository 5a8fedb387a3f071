#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum err_code err_code_of(int sys)
{
	switch (sys) {
	case ENOENT:
		return ERR_NOENT;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
		return ERR_FULL;
	case EBUSY:
		return ERR_BUSY;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EPIPE:
	case ECONNRESET:
		return ERR_CLOSED;
	case ENOSYS:
	case EOPNOTSUPP:
		return ERR_UNSUPPORTED;
	default:
		return ERR_IO;
	}
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(err->text) + sizeof(err->hint)]; /* the arguments may be err->text */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* a line break of an argument ends no text */
	char *hint = strchr(fmt, '\n') ? strrchr(text, '\n') : NULL;
	if (hint)
		*hint++ = 0;
	snprintf(err->hint, sizeof(err->hint), "%s", hint ? hint : "");
	snprintf(err->text, sizeof(err->text), "%s", text);
	err->code = code;
	err->sys = 0;
	return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	int sys = errno;
	va_list ap;
	char text[sizeof(err->text)];
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", strerror(sys));
	memcpy(err->text, text, sizeof(text));
	err->hint[0] = 0;
	err->code = err_code_of(sys);
	err->sys = sys;
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(err->text)];
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", err->text);
	memcpy(err->text, text, sizeof(text));
	return -1;
}

const char *err_code_name(enum err_code code)
{
	static const char *const name[] = {
		[ERR_NONE] = "none",
		[ERR_IO] = "io",
		[ERR_NOENT] = "noent",
		[ERR_EXISTS] = "exists",
		[ERR_INVALID] = "invalid",
		[ERR_PARSE] = "parse",
		[ERR_DENIED] = "denied",
		[ERR_BUSY] = "busy",
		[ERR_FULL] = "full",
		[ERR_DAMAGED] = "damaged",
		[ERR_UNSUPPORTED] = "unsupported",
		[ERR_TIMEOUT] = "timeout",
		[ERR_CLOSED] = "closed",
		[ERR_CANCELLED] = "cancelled",
		[ERR_USAGE] = "usage",
		[ERR_SCRIPT] = "script",
	};
	return (size_t)code < ARRAY_LEN(name) && name[code] ? name[code] : "unknown";
}
