/* HTML as text: visible content stays, hidden content is removed. */
#include "base/text/html.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/charset.h"
#include "base/text/utf8.h"

#include "../tap.h"

static const struct {
	const char *name, *html, *want;
} cases[] = {
	{ "words", "a  b\n c", "a b c\n" },
	{ "nothing", "", "" },
	{ "only blanks", " \n\t ", "" },
	{ "paragraphs", "<p>a<p>b</p><p> c", "a\n\nb\n\nc\n" },
	{ "headings", "<h1>One</h1>x<h3>Three</h3>y", "# One\n\nx\n\n### Three\n\ny\n" },
	{ "breaks", "a<br>b<br/><br>c", "a\nb\n\nc\n" },
	{ "lists", "<ul><li>a<li>b<ol><li>c</li><li>d</ol></ul>e", "- a\n- b\n  1. c\n  2. d\n\ne\n" },
	{ "a table", "<table><tr><th>a</th><td>b<tr><td>c</td></tr></table>", "a | b\nc\n" },
	{ "preformatted", "<pre>\n a\n\n\tb </pre>c", " a\n\n\tb \n\nc\n" },
	{ "a quotation", "<blockquote>a<p>b</blockquote>c", "> a\n> \n> b\n\nc\n" },
	{ "characters", "&lt;b&gt; &amp;amp; &eacute; &#233; &#xE9; &#x80; &bogus; &amp", "<b> &amp; é é é € &bogus; &amp\n" },
	{ "wrong characters", "&#0;&#xD800;&#1114112;&#99999999999;", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n" },
	{ "scripts", "a<script>if (a</b>c) '</scriptx>'</SCRIPT >b<style>x{}</style>c", "abc\n" },
	{ "comments", "a<!-- b --> c<!-->d<!---->e<!-- f", "a cde\n" },
	{ "odd declarations", "a<!doctype x><?php y ?><![CDATA[z]]>b</>c", "abc\n" },
	{ "a lone sign", "1 < 2 <3 > <", "1 < 2 <3 > <\n" },
	{ "attributes", "<p title='a>b' x=\"</p>\" hidden2>c</p>", "c\n" },
	{ "images", "<img alt='A &amp; B'><img><img alt=''>", "[image: A & B]\n" },
	{ "hidden", "a<p hidden>no</p>b<div style='color:red; DISPLAY : none'>no<div>no</div>no</div>c", "abc\n" },
	{ "hidden without an end", "a<p hidden>no<p>b", "a\n\nb\n" },
	{ "invisible characters", "a\xe2\x80\xae" "b\xf3\xa0\x81\xa1" "c\xe2\x80\x8b" "d", "abcd\n" },
	{ "forms", "<form><select><option>a<option>b</select><input value=x><textarea>t</textarea><button>Go</button></form>", "Go\n" },
	{ "an unclosed tag", "a<p title='", "a\n" },
	{ "an unclosed script", "a<script>b", "a\n" },
	{ "controls", "a\001\033[31mb\177", "a [31mb\n" },
	{ "foreign ends", "</p></ul></ul></pre></blockquote>a</a>", "a\n" },
};

static char *link_of(void *self, const char *href)
{
	(void)self;
	return strncmp(href, "http", 4) ? NULL : mem_strdup(href);
}

static void links(void)
{
	const struct html_opts o = { .link = link_of };
	struct buf b = BUF_INIT;
	static const char page[] = "<a href='https://x/?a=1&amp;b=2'>A <b>b</b></a>, <a href=javascript:x>c</a> <a href=http://y></a>"
				   "<a href=http://1>d<a href=http://2>e";
	html_to_text(page, strlen(page), &o, &b, NULL);
	is_str(buf_cstr(&b), "[A b](https://x/?a=1&b=2), c [d](http://1)[e](http://2)\n", "links");
	buf_release(&b);
}

static void found(void)
{
	struct html_found f = { .title = BUF_INIT };
	struct buf b = BUF_INIT;
	static const char page[] = "<title> A\n &amp; B </title><title>C</title><p>text<div hidden>x</div>\xe2\x80\xae";
	html_to_text(page, strlen(page), NULL, &b, &f);
	is_str(buf_cstr(&f.title), "A & B", "the title");
	is_int(f.unseen, 2, "hidden elements are counted");
	html_found_release(&f);
	buf_reset(&b);
	f = (struct html_found){ .title = BUF_INIT };
	const struct html_opts o = { .max = 10 };
	html_to_text("0123456789abc", 13, &o, &b, &f);
	ok(f.cut && b.len <= 11 && utf8_valid(b.data, b.len), "a limit");
	html_found_release(&f);
	buf_release(&b);
}

/* Time grows with the input: what invites to look again and again. */
static void large(void)
{
	static const char *const part[] = { "<div>", "<a href=x>", "<ul><li>", "<!--", "<script>", "<p hidden>", "<", "&", "<blockquote>", "</x",
					    "<pre>\n", "<svg" };
	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		struct buf in = BUF_INIT, out = BUF_INIT;
		const struct html_opts o = { .link = link_of };
		while (in.len < 1 << 20)
			buf_puts(&in, part[i]);
		html_to_text(in.data, in.len, &o, &out, NULL);
		ok(utf8_valid(buf_cstr(&out), out.len) && out.len < 80u << 20, "a million bytes of %s", part[i]);
		buf_release(&in);
		buf_release(&out);
	}
}

static void charsets(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		const char *want;
	} c[] = {
		{ NULL, "caf\xc3\xa9", 5, "café" },
		{ "utf-8", "a\xff" "b\xc3", 4, "a\xef\xbf\xbd" "b\xef\xbf\xbd" },
		{ "ISO-8859-1", "caf\xe9 \x96", 6, "café –" },
		{ "windows-1251", "\xcf", 1, "П" },
		{ "shift_jis", "\x93\xfa", 2, "日" },
		{ "gb18030", "\xc4\xe3", 2, "你" },
		{ "utf-16le", "a\0b\0", 4, "ab" },
		{ "utf-8", "\xff\xfe" "a\0", 4, "a" },
		{ "euc-jp", "\xff\xff" "a", 3, "\xef\xbf\xbd\xef\xbf\xbd" "a" },
		{ "no-such", "a\0b", 3, "ab" },
		{ "utf-16", "a", 1, "\xef\xbf\xbd" },
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct buf b = BUF_INIT;
		text_to_utf8(c[i].bytes, c[i].len, c[i].name, &b);
		is_str(buf_cstr(&b), c[i].want, c[i].name ? c[i].name : "no name");
		buf_release(&b);
	}
	static const char *const head[][2] = {
		{ "<meta charset=windows-1251>", "windows-1251" },
		{ "<meta http-equiv=x content='text/html; charset=koi8-r'>", "koi8-r" },
		{ "<meta charset = \"ISO-2022-CN-EXT\">", NULL },
		{ "charset", NULL },
		{ "charset=", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(head); i++) {
		char *name = html_charset(head[i][0], strlen(head[i][0]));
		is_str(name, head[i][1], head[i][0]);
		free(name);
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = BUF_INIT;
		html_to_text(cases[i].html, strlen(cases[i].html), NULL, &b, NULL);
		is_str(buf_cstr(&b), cases[i].want, cases[i].name);
		buf_release(&b);
	}
	links();
	found();
	large();
	charsets();
	return done_testing();
}
