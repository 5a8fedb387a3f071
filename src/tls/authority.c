#include "tls/authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/mem.h"

enum { VALID_BEFORE_S = 86400, VALID_AFTER_S = 395 * 86400, SERIAL_LEN = 16, LEAVES_MAX = 256 };

struct leaf {
	char *host;
	X509 *cert;
};

struct authority {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	struct leaf leaf[LEAVES_MAX];
	size_t nr_leaves;
};

static int authority_failed(struct err *err, const char *what)
{
	char text[160] = "";
	ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
	ERR_clear_error();
	return err_set(err, ERR_UNSUPPORTED, "%s: %s", what, text);
}

/* A certificate of @name for @key without issuer, extensions, and signature. NULL: failed. */
static X509 *certificate_new(const char *name, EVP_PKEY *key)
{
	X509 *x = X509_new();
	unsigned char serial[SERIAL_LEN];
	BIGNUM *number = NULL;
	bool ok = x && RAND_bytes(serial, sizeof(serial)) == 1;
	serial[0] &= 0x7f;
	ok = ok && (number = BN_bin2bn(serial, sizeof(serial), NULL)) &&
	     BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) && X509_set_version(x, 2) &&
	     X509_gmtime_adj(X509_getm_notBefore(x), -VALID_BEFORE_S) &&
	     X509_gmtime_adj(X509_getm_notAfter(x), VALID_AFTER_S) && X509_set_pubkey(x, key) &&
	     X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
					(const unsigned char *)name, -1, -1, 0);
	BN_free(number);
	if (ok)
		return x;
	X509_free(x);
	return NULL;
}

static bool certificate_extend(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool ok = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok;
}

static X509 *authority_certificate(EVP_PKEY *key)
{
	X509 *x = certificate_new("sandglass session", key);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(x)) &&
	    certificate_extend(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    certificate_extend(x, x, NID_key_usage, "critical,keyCertSign") &&
	    certificate_extend(x, x, NID_subject_key_identifier, "hash") &&
	    X509_sign(x, key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

int authority_new(struct authority **out, struct err *err)
{
	struct authority *a = NEW(struct authority);
	a->key = EVP_EC_gen("P-256");
	a->leaf_key = EVP_EC_gen("P-256");
	a->cert = a->key && a->leaf_key ? authority_certificate(a->key) : NULL;
	*out = a;
	if (a->cert)
		return 0;
	authority_free(out);
	return authority_failed(err, "can't make a certificate authority");
}

void authority_free(struct authority **ap)
{
	struct authority *a = *ap;
	*ap = NULL;
	if (!a)
		return;
	for (size_t i = 0; i < a->nr_leaves; i++) {
		free(a->leaf[i].host);
		X509_free(a->leaf[i].cert);
	}
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	EVP_PKEY_free(a->leaf_key);
	free(a);
}

int authority_pem(const struct authority *a, struct buf *out, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len = bio && PEM_write_bio_X509(bio, a->cert) ? BIO_get_mem_data(bio, &text) : 0;
	if (len > 0)
		buf_append(out, text, (size_t)len);
	BIO_free(bio);
	return len > 0 ? 0 : authority_failed(err, "can't write the certificate");
}

static X509 *leaf_certificate(const struct authority *a, const char *host)
{
	CLEANUP(free_ptr) char *names = mem_printf("DNS:%s", host);
	X509 *x = certificate_new("sandglass", a->leaf_key);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(a->cert)) &&
	    certificate_extend(x, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	    certificate_extend(x, a->cert, NID_key_usage, "critical,digitalSignature") &&
	    certificate_extend(x, a->cert, NID_ext_key_usage, "serverAuth") &&
	    certificate_extend(x, a->cert, NID_authority_key_identifier, "keyid") &&
	    certificate_extend(x, a->cert, NID_subject_alt_name, names) &&
	    X509_sign(x, a->key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

/* The certificate of @host, made once. Borrowed; NULL: failed. */
static X509 *leaf_of(struct authority *a, const char *host)
{
	for (size_t i = 0; i < a->nr_leaves; i++)
		if (!strcmp(a->leaf[i].host, host))
			return a->leaf[i].cert;
	X509 *x = a->nr_leaves < LEAVES_MAX ? leaf_certificate(a, host) : NULL;
	if (x)
		a->leaf[a->nr_leaves++] = (struct leaf){ .host = mem_strdup(host), .cert = x };
	return x;
}

int authority_sign(struct authority *a, SSL *ssl, const char *host, struct err *err)
{
	X509 *x = leaf_of(a, host);
	if (x && SSL_use_certificate(ssl, x) == 1 && SSL_use_PrivateKey(ssl, a->leaf_key) == 1)
		return 0;
	return authority_failed(err, "can't make a certificate");
}
