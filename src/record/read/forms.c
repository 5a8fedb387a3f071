#include "record/read/forms.h"

#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"

enum { DOTTED_I = 0x130 /* its lower case is i */ };

void forms_release(struct forms *f)
{
	for (size_t i = 0; i < f->nr; i++)
		buf_release(&f->form[i]);
}

static void append_all(struct forms *f, const char *bytes, size_t len)
{
	for (size_t i = 0; i < f->nr; i++)
		buf_append(&f->form[i], bytes, len);
}

/* Every form once with @bytes and once with the character @other: three characters make eight at
 * most. */
static void append_either(struct forms *f, const char *bytes, size_t len, uint32_t other)
{
	struct forms with = { .nr = f->nr };
	char utf8[4];
	for (size_t i = 0; i < f->nr; i++)
		buf_append(&with.form[i], buf_cstr(&f->form[i]), f->form[i].len);
	append_all(f, bytes, len);
	append_all(&with, utf8, utf8_put(other, utf8));
	memcpy(f->form + f->nr, with.form, with.nr * sizeof(*with.form));
	f->nr += with.nr;
}

struct forms forms_of(const char *bytes, size_t len)
{
	struct forms f = { .nr = 1 };
	while (len) {
		uint32_t cp = 0;
		size_t used = 1;
		bool text = utf8_next(bytes, len, &cp, &used) == UTF8_OK;
		uint32_t other = !text	     ? cp
				 : cp == 'i' ? DOTTED_I
				 : cp < 0x80 ? cp
					     : text_upper(cp);
		if (other != cp)
			append_either(&f, bytes, used, other);
		else
			append_all(&f, bytes, used);
		bytes += used;
		len -= used;
	}
	return f;
}
