/* JSON text written by hand, for answers that are made thousands of times a second; reading is cJSON's. */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include <stdint.h>

#include "base/buf.h"

/* A string with its quotes. Bytes that are not UTF-8 become U+FFFD: for text that we made. NULL: null. */
void rv_json_str(struct rv_buf *to, const char *s);
void rv_json_strn(struct rv_buf *to, const char *s, size_t n);
void rv_json_int(struct rv_buf *to, int64_t v);
void rv_json_bool(struct rv_buf *to, bool v);
/* Nanoseconds as whole milliseconds; null when they are negative: it has not come to that. */
void rv_json_ms(struct rv_buf *to, int64_t ns);
/* The key of one more member, behind others; what follows is its value. */
void rv_json_key(struct rv_buf *to, const char *key);
/* Literal JSON: `RV_JSON_LIT(b, "{\"a\":")`. */
#define RV_JSON_LIT(to, literal) rv_buf_add((to), "" literal, sizeof(literal) - 1)
/* One more member of an object, behind others: `RV_JSON_STR(b, "name", s)` is `,"name":"..."`. */
#define RV_JSON_STR(to, key, v)	 (RV_JSON_LIT(to, ",\"" key "\":"), rv_json_str(to, v))
#define RV_JSON_INT(to, key, v)	 (RV_JSON_LIT(to, ",\"" key "\":"), rv_json_int(to, v))
#define RV_JSON_BOOL(to, key, v) (RV_JSON_LIT(to, ",\"" key "\":"), rv_json_bool(to, v))

/* Bytes of somebody else as one member, without loss: "text":"..." when they are UTF-8 without NUL, else
   "base64":"...". */
void rv_json_bytes(struct rv_buf *to, const char *bytes, size_t n);
/* Whether the text is one JSON value. */
bool rv_json_is_value(const char *text);
/* True when all of it is well-formed UTF-8 without a NUL. */
bool rv_json_is_text(const char *bytes, size_t n);
/* Appends what the base64 text stands for. False: it is not base64. */
bool rv_json_base64_read(struct rv_buf *to, const char *text);

#endif
