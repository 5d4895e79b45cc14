/* config.c: the few things of TOML that a packaged config has. */
#include "config.h"

#include <string.h>

/* Where reading is, and where the text ends. */
typedef struct Reader {
    const char* at;
    const char* end;
} Reader;

/* The value of a setting as it is written. */
typedef struct Value {
    const char* from;
    size_t size;
    bool escaped; /* stands between " */
} Value;

static bool more(const Reader* r) { return r->at < r->end; }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void skip_blanks(Reader* r) {
    while (more(r) && is_blank(*r->at)) {
        r->at++;
    }
}

static void skip_line(Reader* r) {
    while (more(r) && *r->at != '\n') {
        r->at++;
    }
    if (more(r)) {
        r->at++;
    }
}

/* Whether three quotes of this kind stand here. */
static bool is_triple(const Reader* r, char quote) {
    return r->end - r->at >= 3 && r->at[0] == quote && r->at[1] == quote && r->at[2] == quote;
}

/* The text up to its closing quotes, one or three; what follows a backslash between " does not close it. */
static Value take_quoted(Reader* r, char quote) {
    bool triple = is_triple(r, quote);
    Value v = {NULL, 0, quote == '"'};
    r->at += triple ? 3 : 1;
    v.from = r->at;
    while (more(r) && !(triple ? is_triple(r, quote) : *r->at == quote || *r->at == '\n')) {
        r->at += v.escaped && *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    }
    v.size = (size_t)(r->at - v.from);
    if (more(r) && *r->at == quote) {
        r->at += triple ? 3 : 1;
    }
    return v;
}

static Value take_value(Reader* r) {
    Value v = {r->at, 0, false};
    if (more(r) && (*r->at == '"' || *r->at == '\'')) {
        return take_quoted(r, *r->at);
    }
    while (more(r) && !is_blank(*r->at) && *r->at != '\n' && *r->at != '#') {
        r->at++;
    }
    v.size = (size_t)(r->at - v.from);
    return v;
}

/* Reads a name and the equals sign behind it. Returns whether it is this one; *is_setting, whether it is any. */
static bool take_name(Reader* r, const char* name, bool* is_setting) {
    const char* from = r->at;
    size_t n;
    while (more(r) && !is_blank(*r->at) && *r->at != '=' && *r->at != '\n' && *r->at != '#') {
        r->at++;
    }
    n = (size_t)(r->at - from);
    skip_blanks(r);
    *is_setting = n > 0 && more(r) && *r->at == '=';
    if (*is_setting) {
        r->at++;
        skip_blanks(r);
    }
    return *is_setting && n == strlen(name) && memcmp(from, name, n) == 0;
}

static void copy(Value v, char* to, size_t capacity) {
    size_t n = 0;
    for (size_t i = 0; i < v.size && n + 1 < capacity; i++) {
        if (v.escaped && v.from[i] == '\\' && i + 1 < v.size) {
            i++;
        }
        to[n++] = v.from[i];
    }
    to[n] = 0;
}

bool config_find(const char* text, size_t size, const char* name, char* value, size_t capacity) {
    Reader r = {text, text + size};
    while (more(&r)) {
        bool is_setting, found;
        skip_blanks(&r);
        found = take_name(&r, name, &is_setting);
        if (is_setting) {
            Value v = take_value(&r);
            if (found) {
                copy(v, value, capacity);
                return true;
            }
        }
        skip_line(&r);
    }
    return false;
}
