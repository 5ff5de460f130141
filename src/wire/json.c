/* JSON by hand: see json.h. */
#include "wire/json.h"

#include <cjson/cJSON.h>

#include <string.h>

static const char base64_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Length of the well-formed UTF-8 sequence at s, 0 when there is none. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	size_t len;
	unsigned low = 0x80, high = 0xbf;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* past U+10FFFF */
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool rv_json_is_text(const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t i = 0;

	while (i < n) {
		size_t len = s[i] ? utf8_len(s + i, n - i) : 0;

		if (!len)
			return false;
		i += len;
	}
	return true;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct rv_buf *to, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char code[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	switch (c) {
	case '"': RV_JSON_LIT(to, "\\\""); break;
	case '\\': RV_JSON_LIT(to, "\\\\"); break;
	case '\n': RV_JSON_LIT(to, "\\n"); break;
	case '\t': RV_JSON_LIT(to, "\\t"); break;
	case '\r': RV_JSON_LIT(to, "\\r"); break;
	default: rv_buf_add(to, code, sizeof(code)); break;
	}
}

void rv_json_strn(struct rv_buf *to, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0;

	RV_JSON_LIT(to, "\"");
	while (i < n) {
		size_t from = i, len;

		while (i < n && is_plain(s[i]))
			i++;
		if (i > from)
			rv_buf_add(to, text + from, i - from);
		if (i == n)
			break;
		len = utf8_len(s + i, n - i);
		if (len > 1)
			rv_buf_add(to, text + i, len);
		else if (len == 1)
			put_escaped(to, s[i]);
		else
			RV_JSON_LIT(to, "\xef\xbf\xbd");
		i += len ? len : 1;
	}
	RV_JSON_LIT(to, "\"");
}

void rv_json_str(struct rv_buf *to, const char *s)
{
	if (s)
		rv_json_strn(to, s, strlen(s));
	else
		RV_JSON_LIT(to, "null");
}

void rv_json_int(struct rv_buf *to, int64_t v)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (v < 0)
		digits[--at] = '-';
	rv_buf_add(to, digits + at, sizeof(digits) - at);
}

void rv_json_bool(struct rv_buf *to, bool v)
{
	if (v)
		RV_JSON_LIT(to, "true");
	else
		RV_JSON_LIT(to, "false");
}

void rv_json_ms(struct rv_buf *to, int64_t ns)
{
	if (ns < 0)
		RV_JSON_LIT(to, "null");
	else
		rv_json_int(to, ns / 1000000);
}

void rv_json_key(struct rv_buf *to, const char *key)
{
	RV_JSON_LIT(to, ",");
	rv_json_str(to, key);
	RV_JSON_LIT(to, ":");
}

static void put_base64(struct rv_buf *to, const unsigned char *s, size_t n)
{
	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)s[i] << 16;
		char four[4];

		if (i + 1 < n)
			v |= (unsigned)s[i + 1] << 8;
		if (i + 2 < n)
			v |= s[i + 2];
		four[0] = base64_letters[v >> 18];
		four[1] = base64_letters[v >> 12 & 63];
		four[2] = i + 1 < n ? base64_letters[v >> 6 & 63] : '=';
		four[3] = i + 2 < n ? base64_letters[v & 63] : '=';
		rv_buf_add(to, four, 4);
	}
}

void rv_json_bytes(struct rv_buf *to, const char *bytes, size_t n)
{
	if (rv_json_is_text(bytes, n)) {
		RV_JSON_LIT(to, "\"text\":");
		rv_json_strn(to, bytes, n);
		return;
	}
	RV_JSON_LIT(to, "\"base64\":\"");
	put_base64(to, (const unsigned char *)bytes, n);
	RV_JSON_LIT(to, "\"");
}

/* Four letters to at most three bytes; 0: malformed. */
static size_t read_four(const char *four, char *to)
{
	unsigned v = 0;
	size_t pad = 0;

	for (size_t i = 0; i < 4; i++) {
		const char *at = four[i] && four[i] != '=' ? strchr(base64_letters, four[i]) : NULL;

		if (!at && (four[i] != '=' || i < 2))
			return 0;
		if (at && pad)
			return 0;
		pad += !at;
		v = v << 6 | (at ? (unsigned)(at - base64_letters) : 0);
	}
	to[0] = (char)(v >> 16);
	to[1] = (char)(v >> 8);
	to[2] = (char)v;
	return 3 - pad;
}

bool rv_json_base64_read(struct rv_buf *to, const char *text)
{
	size_t n = strlen(text);

	if (n % 4)
		return false;
	for (size_t i = 0; i < n; i += 4) {
		char bytes[3];
		size_t got = read_four(text + i, bytes);

		if (!got || (got < 3 && i + 4 < n) || !rv_buf_add(to, bytes, got))
			return false;
	}
	return true;
}

bool rv_json_is_value(const char *text)
{
	cJSON *v = cJSON_ParseWithOpts(text, NULL, true);

	cJSON_Delete(v);
	return v;
}
