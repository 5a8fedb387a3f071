#include "base/text/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text/charset.h"
#include "base/text/utf8.h"
#include "base/text/width.h"

enum { NAME_MAX_LEN = 16, VALUE_MAX = 2048, LISTS_MAX = 32, TITLE_MAX = 300, QUOTES_MAX = 8 };

enum how { BLOCK = 1, PARA = 2, HEAD = 4, VOID = 8, RAW = 16, ONCE = 32 };

/* BLOCK: on a line of its own; PARA: with an empty line around it; RAW: its contents are not text;
 * VOID: has no contents; ONCE: does not nest, the next one ends it. */
static const struct element {
	char name[NAME_MAX_LEN];
	unsigned how;
} html_elements[] = {
	{ "a", 0 },
	{ "address", BLOCK },
	{ "area", VOID },
	{ "article", PARA },
	{ "aside", PARA },
	{ "base", VOID },
	{ "blockquote", PARA },
	{ "br", VOID },
	{ "canvas", RAW },
	{ "caption", BLOCK },
	{ "col", VOID },
	{ "datalist", RAW },
	{ "dd", BLOCK | ONCE },
	{ "details", PARA },
	{ "div", BLOCK },
	{ "dl", PARA },
	{ "dt", BLOCK | ONCE },
	{ "embed", VOID },
	{ "fieldset", PARA },
	{ "figcaption", BLOCK },
	{ "figure", PARA },
	{ "footer", PARA },
	{ "form", PARA },
	{ "h1", PARA | HEAD },
	{ "h2", PARA | HEAD },
	{ "h3", PARA | HEAD },
	{ "h4", PARA | HEAD },
	{ "h5", PARA | HEAD },
	{ "h6", PARA | HEAD },
	{ "header", PARA },
	{ "hr", VOID | PARA },
	{ "iframe", RAW },
	{ "img", VOID },
	{ "input", VOID },
	{ "li", BLOCK | ONCE },
	{ "link", VOID },
	{ "main", PARA },
	{ "math", RAW },
	{ "meta", VOID },
	{ "nav", PARA },
	{ "noembed", RAW },
	{ "noframes", RAW },
	{ "object", RAW },
	{ "ol", PARA },
	{ "option", RAW | ONCE },
	{ "p", PARA | ONCE },
	{ "param", VOID },
	{ "pre", PARA },
	{ "script", RAW },
	{ "section", PARA },
	{ "select", RAW },
	{ "source", VOID },
	{ "style", RAW },
	{ "summary", BLOCK },
	{ "svg", RAW },
	{ "table", PARA },
	{ "td", ONCE },
	{ "template", RAW },
	{ "textarea", RAW },
	{ "th", ONCE },
	{ "title", RAW },
	{ "tr", BLOCK | ONCE },
	{ "track", VOID },
	{ "ul", PARA },
	{ "wbr", VOID },
	{ "xmp", RAW },
};

static const struct {
	char name[10];
	uint32_t cp;
} html_entities[] = {
#include "base/text/entities.inc"
};

struct attrs {
	char href[VALUE_MAX], alt[256];
	size_t href_len, alt_len;
	bool hidden;
};

struct reader {
	const char *p, *end;
	const struct html_opts *o;
	struct buf *out;
	size_t began; /* of out, before us */
	struct html_found *found;
	unsigned lines; /* that are owed before the next text */
	bool space, wrote, title, cell;
	unsigned pre, quotes;
	int list[LISTS_MAX]; /* number of the next item; -1 = no numbers */
	size_t nr_lists;
	char *link;		 /* of the open <a> */
	size_t link_at;		 /* where its "[" stands */
	char skip[NAME_MAX_LEN]; /* a hidden element: left out until it ends */
	unsigned skip_depth;
	bool skip_once, full;
};

void html_found_release(struct html_found *f)
{
	buf_release(&f->title);
}

/* --- out -------------------------------------------------------------------------------------- */

static void raw_out(struct reader *r, const char *s, size_t len)
{
	if (r->full)
		return;
	if (r->o->max && r->out->len - r->began + len > r->o->max) {
		r->full = r->found->cut = true;
		return;
	}
	buf_append(r->out, s, len);
}

static void html_pay(struct reader *r)
{
	if (r->lines && r->wrote) {
		for (unsigned i = 0; i < r->lines; i++) {
			raw_out(r, "\n", 1);
			for (unsigned q = 0; q < r->quotes; q++)
				raw_out(r, "> ", 2);
		}
	} else if (r->space && r->wrote) {
		raw_out(r, " ", 1);
	} else if (!r->wrote) {
		for (unsigned q = 0; q < r->quotes; q++)
			raw_out(r, "> ", 2);
	}
	r->lines = 0;
	r->space = false;
	r->wrote = true;
}

static void html_put(struct reader *r, const char *s, size_t len)
{
	html_pay(r);
	raw_out(r, s, len);
}

static void puts_out(struct reader *r, const char *s)
{
	html_put(r, s, strlen(s));
}

static void html_owe(struct reader *r, unsigned lines)
{
	r->lines = lines > r->lines ? lines : r->lines;
	r->space = false;
}

static void put_title(struct reader *r, uint32_t cp)
{
	char u[4];
	struct buf *t = &r->found->title;
	bool blank = cp <= ' ' || cp == 0xa0;
	if (t->len > TITLE_MAX || (blank && (!t->len || t->data[t->len - 1] == ' ')))
		return;
	buf_append(t, u, utf8_put(blank ? ' ' : cp, u));
}

static void html_put_char(struct reader *r, uint32_t cp)
{
	char u[4];
	if (cp != 0x200c && cp != 0x200d && cp != '\n' && text_is_hidden(cp)) {
		/* where a word may break: harmless */
		r->found->unseen += cp != 0xad && cp != 0x200b && cp != 0xfe0f;
		return;
	}
	if (r->title) {
		put_title(r, cp);
	} else if (r->pre && cp == '\r') {
		return;
	} else if (r->pre && (cp == '\n' || cp == '\t' || cp == ' ')) {
		if (cp == '\n' && !r->lines)
			r->lines = 1;
		else if (cp == '\n')
			r->lines += r->lines < 3;
		else
			html_put(r, cp == '\t' ? "\t" : " ", 1);
	} else if (cp <= ' ' || cp == 0xa0 || (cp >= 0x7f && cp < 0xa0)) {
		r->space = r->space || !r->lines;
	} else {
		html_put(r, u, utf8_put(cp, u));
	}
}

/* --- characters ------------------------------------------------------------------------------- */

static uint32_t html_sane(uint32_t cp)
{
	static const uint16_t c1252[32] = {
		0x20ac, 0xfffd, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
		0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0xfffd, 0x017d, 0xfffd,
		0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
		0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0xfffd, 0x017e, 0x0178,
	};
	if (cp >= 0x80 && cp < 0xa0)
		return c1252[cp - 0x80];
	return !cp || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000) ? 0xfffd : cp;
}

static int html_by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "&..." at @p: its character, and its length; 0: not a reference. */
static size_t html_reference(const char *p, size_t len, uint32_t *cp)
{
	char name[10];
	size_t n = 1;
	if (len > 2 && p[1] == '#') {
		bool hex = p[2] == 'x' || p[2] == 'X';
		uint32_t v = 0;
		size_t from = n = hex ? 3 : 2;
		for (; n < len; n++) {
			char c = p[n];
			int d = c >= '0' && c <= '9'			    ? c - '0'
				: hex && (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
									    : -1;
			if (d < 0)
				break;
			v = v > 0x10ffff ? v : v * (hex ? 16 : 10) + (uint32_t)d;
		}
		*cp = html_sane(v);
		return n == from ? 0 : n + (n < len && p[n] == ';');
	}
	while (n < len && n < sizeof(name) &&
	       ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') ||
		(p[n] >= '0' && p[n] <= '9')))
		n++;
	if (n == 1 || n >= len || p[n] != ';')
		return 0;
	memcpy(name, p + 1, n - 1);
	name[n - 1] = 0;
	const void *at = bsearch(name, html_entities, ARRAY_LEN(html_entities),
				 sizeof(html_entities[0]), html_by_name);
	if (!at)
		return 0;
	*cp = html_entities[((size_t)((const char *)at - (const char *)html_entities)) /
			    sizeof(html_entities[0])]
		      .cp;
	return n + 1;
}

/* One character of text, with references. */
static uint32_t next_char(const char **p, const char *end)
{
	uint32_t cp;
	size_t len = (size_t)(end - *p), used = **p == '&' ? html_reference(*p, len, &cp) : 0;
	if (!used && utf8_next(*p, len, &cp, &used) != UTF8_OK)
		cp = 0xfffd;
	*p += used;
	return cp;
}

/* --- tags ------------------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_alpha(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static void take_value(char *to, size_t cap, size_t *len_out, const char *p, const char *end)
{
	size_t n = 0;
	char u[4];
	while (p < end && n + 4 < cap) {
		uint32_t cp = next_char(&p, end);
		if (cp < ' ' || cp == 0x7f)
			continue;
		size_t w = utf8_put(cp, u);
		memcpy(to + n, u, w);
		n += w;
	}
	to[n] = 0;
	*len_out = p < end ? 0 : n; /* what does not fit is not cut to something else */
}

static bool html_named(const char *name, size_t len, const char *want)
{
	return strlen(want) == len && !strncasecmp(name, want, len);
}

/* display : none, with any blanks and letters. */
static bool style_hides(const char *p, const char *end)
{
	char plain[512];
	size_t n = 0;
	for (; p < end && n + 1 < sizeof(plain); p++)
		if (!is_space(*p))
			plain[n++] = (char)(is_alpha(*p) ? *p | 32 : *p);
	plain[n] = 0;
	return strstr(plain, "display:none") || strstr(plain, "visibility:hidden");
}

static void html_attribute(struct attrs *a, const char *name, size_t len, const char *value,
			   const char *end)
{
	if (html_named(name, len, "href"))
		take_value(a->href, sizeof(a->href), &a->href_len, value, end);
	else if (html_named(name, len, "alt"))
		take_value(a->alt, sizeof(a->alt), &a->alt_len, value, end);
	else if (html_named(name, len, "hidden"))
		a->hidden = true;
	else if (html_named(name, len, "style"))
		a->hidden = a->hidden || style_hides(value, end);
}

/* Behind a tag's name; steps over its ">". */
static void html_attributes(struct reader *r, struct attrs *a)
{
	const char *p = r->p, *end = r->end;
	while (p < end && *p != '>') {
		if (is_space(*p) || *p == '/') {
			p++;
			continue;
		}
		const char *name = p, *value, *value_end;
		while (p < end && !is_space(*p) && *p != '=' && *p != '>' && *p != '/')
			p++;
		size_t len = (size_t)(p - name);
		while (p < end && is_space(*p))
			p++;
		value = value_end = p;
		if (p < end && *p == '=') {
			p++;
			while (p < end && is_space(*p))
				p++;
			char quote = p < end && (*p == '"' || *p == '\'') ? *p++ : 0;
			value = p;
			while (p < end && (quote ? *p != quote : !is_space(*p) && *p != '>'))
				p++;
			value_end = p;
			p += quote && p < end;
		} else if (!len) {
			p++; /* a lone sign */
		}
		html_attribute(a, name, len, value, value_end);
	}
	r->p = p < end ? p + 1 : end;
}

static const struct element *element_of(const char *name)
{
	size_t lo = 0, hi = ARRAY_LEN(html_elements);
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strcmp(name, html_elements[mid].name);
		if (!c)
			return &html_elements[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* Where "</name" begins, or the end. */
static const char *raw_end(const struct reader *r, const char *name)
{
	size_t len = strlen(name);
	for (const char *p = r->p; (p = memchr(p, '<', (size_t)(r->end - p))); p++)
		if ((size_t)(r->end - p) > len + 1 && p[1] == '/' &&
		    !strncasecmp(p + 2, name, len) && !is_alpha(p[2 + len]))
			return p;
	return r->end;
}

static void end_link(struct reader *r)
{
	char *link = r->link;
	r->link = NULL;
	if (!link)
		return;
	if (r->out->len == r->link_at + 1 && r->out->data[r->link_at] == '[') {
		r->out->len = r->link_at; /* a link without text */
		r->out->data[r->out->len] = 0;
	} else {
		raw_out(r, "](", 2);
		raw_out(r, link, strlen(link));
		raw_out(r, ")", 1);
	}
	free(link);
}

static void begin_link(struct reader *r, const struct attrs *a)
{
	end_link(r);
	r->link = a->href_len && a->href[0] != '#' && r->o->link ? r->o->link(r->o->self, a->href)
								 : NULL;
	if (!r->link)
		return;
	html_pay(r);
	r->link_at = r->out->len;
	raw_out(r, "[", 1);
}

static void begin_item(struct reader *r)
{
	char mark[40];
	int *n = r->nr_lists && r->nr_lists <= LISTS_MAX ? &r->list[r->nr_lists - 1] : NULL;
	size_t indent =
		2 * (r->nr_lists ? (r->nr_lists < LISTS_MAX ? r->nr_lists : LISTS_MAX) - 1 : 0);
	html_owe(r, 1);
	html_pay(r);
	while (indent--)
		raw_out(r, " ", 1);
	if (n && *n >= 0)
		snprintf(mark, sizeof(mark), "%d. ", (*n)++);
	else
		snprintf(mark, sizeof(mark), "- ");
	raw_out(r, mark, strlen(mark));
}

static void html_begin(struct reader *r, const char *name, unsigned how, const struct attrs *a)
{
	if (how & (BLOCK | PARA))
		html_owe(r, how & PARA && !(r->nr_lists &&
					    (name[0] == 'u' || name[0] == 'o' || name[0] == 'p'))
				    ? 2
				    : 1);
	if (how & HEAD) {
		for (char i = '1'; i <= name[1]; i++)
			puts_out(r, "#");
		r->space = true;
	} else if (!strcmp(name, "a")) {
		begin_link(r, a);
	} else if (!strcmp(name, "br")) {
		r->lines += r->lines < 2;
		r->space = false;
	} else if (!strcmp(name, "hr")) {
		puts_out(r, "---");
		html_owe(r, 2);
	} else if (!strcmp(name, "li")) {
		begin_item(r);
	} else if (!strcmp(name, "ul") || !strcmp(name, "ol")) {
		if (r->nr_lists < LISTS_MAX)
			r->list[r->nr_lists] = name[0] == 'o' ? 1 : -1;
		r->nr_lists++;
	} else if (!strcmp(name, "pre")) {
		r->pre++;
		if (r->p < r->end && *r->p == '\n')
			r->p++;
	} else if (!strcmp(name, "blockquote")) {
		r->quotes += r->quotes < QUOTES_MAX;
	} else if (!strcmp(name, "tr")) {
		r->cell = false;
	} else if (!strcmp(name, "td") || !strcmp(name, "th")) {
		if (r->cell)
			puts_out(r, " |");
		r->space = r->cell;
		r->cell = true;
	} else if (!strcmp(name, "img") && a->alt_len) {
		puts_out(r, "[image: ");
		for (const char *p = a->alt, *end = a->alt + a->alt_len; p < end;)
			html_put_char(r, next_char(&p, end));
		puts_out(r, "]");
	}
}

static void html_finish(struct reader *r, const char *name, unsigned how)
{
	if (!strcmp(name, "a"))
		end_link(r);
	if (how & (BLOCK | PARA))
		html_owe(r, how & PARA && !(r->nr_lists > 1 && (name[0] == 'u' || name[0] == 'o'))
				    ? 2
				    : 1);
	if (!strcmp(name, "ul") || !strcmp(name, "ol"))
		r->nr_lists -= r->nr_lists > 0;
	else if (!strcmp(name, "pre"))
		r->pre -= r->pre > 0;
	else if (!strcmp(name, "blockquote"))
		r->quotes -= r->quotes > 0;
}

static void raw_element(struct reader *r, const char *name)
{
	const char *end = raw_end(r, name);
	if (!strcmp(name, "title") && !r->found->title.len && !r->skip_depth) {
		r->title = true;
		while (r->p < end)
			html_put_char(r, next_char(&r->p, end));
		r->title = false;
	}
	r->p = end;
}

static void html_skipped(struct reader *r, const char *name, bool closing)
{
	if (strcmp(name, r->skip) != 0)
		return;
	if (closing || r->skip_once)
		r->skip_depth--;
	else
		r->skip_depth++;
}

static void html_tag(struct reader *r)
{
	static struct attrs none;
	bool closing = r->p[1] == '/';
	char name[NAME_MAX_LEN] = "";
	size_t n = 0;
	struct attrs a;
	for (r->p += 1 + closing; r->p < r->end && !is_space(*r->p) && *r->p != '>' && *r->p != '/';
	     r->p++)
		if (n + 1 < sizeof(name))
			name[n++] = (char)(is_alpha(*r->p) ? *r->p | 32 : *r->p);
	name[n] = 0;
	a = none;
	html_attributes(r, &a);
	const struct element *e = element_of(name);
	unsigned how = e ? e->how : 0;
	if (r->skip_depth) {
		html_skipped(r, name, closing);
		if (r->skip_depth && how & RAW && !closing)
			raw_element(r, name);
		if (r->skip_depth || closing || !r->skip_once)
			return;
	}
	if (!closing && a.hidden && !(how & (VOID | RAW))) {
		r->found->unseen++;
		memcpy(r->skip, name, sizeof(name));
		r->skip_depth = 1;
		r->skip_once = how & ONCE;
		return;
	}
	if (closing && how & RAW)
		return;
	if (how & RAW)
		raw_element(r, name);
	else if (closing)
		html_finish(r, name, how);
	else
		html_begin(r, name, how, &a);
}

/* "<!...", "<?...", "</" before something other than a name. */
static void html_declaration(struct reader *r)
{
	const char *p = NULL;
	size_t left = (size_t)(r->end - r->p);
	if (left >= 4 && !memcmp(r->p, "<!--", 4)) {
		p = memmem(r->p + 2, left - 2, "-->", 3);
		r->p = p ? p + 3 : r->end;
		return;
	}
	p = memchr(r->p, '>', left);
	r->p = p ? p + 1 : r->end;
}

void html_to_text(const char *html, size_t len, const struct html_opts *o, struct buf *out,
		  struct html_found *found)
{
	static const struct html_opts plain = { 0 };
	struct html_found own = { .title = BUF_INIT };
	struct reader r = { .p = html,
			    .end = html + len,
			    .o = o ? o : &plain,
			    .out = out,
			    .began = out->len,
			    .found = found ? found : &own };
	while (r.p < r.end && !r.full) {
		char next = r.p + 1 < r.end ? r.p[1] : 0;
		if (*r.p == '<' &&
		    (is_alpha(next) || (next == '/' && r.p + 2 < r.end && is_alpha(r.p[2]))))
			html_tag(&r);
		else if (*r.p == '<' && (next == '!' || next == '?' || next == '/'))
			html_declaration(&r);
		else if (r.skip_depth)
			r.p++;
		else
			html_put_char(&r, next_char(&r.p, r.end));
	}
	end_link(&r);
	while (r.found->title.len && r.found->title.data[r.found->title.len - 1] == ' ')
		r.found->title.data[--r.found->title.len] = 0;
	if (out->len > r.began)
		buf_putc(out, '\n');
	html_found_release(&own);
}

char *html_charset(const char *html, size_t len)
{
	enum { LOOK = 4096 };
	char name[32];
	len = len < LOOK ? len : LOOK;
	for (size_t i = 0; i + 8 < len; i++) {
		if (strncasecmp(html + i, "charset", 7) != 0)
			continue;
		size_t k = i + 7, n = 0;
		while (k < len && is_space(html[k]))
			k++;
		if (k >= len || html[k] != '=')
			continue;
		for (k++; k < len && (is_space(html[k]) || html[k] == '"' || html[k] == '\''); k++)
			;
		while (k < len && n + 1 < sizeof(name) && !is_space(html[k]) &&
		       !strchr("\"'>;/", html[k]))
			name[n++] = html[k++];
		name[n] = 0;
		if (charset_known(name))
			return mem_strdup(name);
	}
	return NULL;
}
