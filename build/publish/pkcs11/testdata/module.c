/* A PKCS#11 module for tests, with tokens that SoftHSM can't imitate, one a slot. Its structures have the layout that the C compiler gives them,
 * packed on Windows, as PKCS#11 wants. Each token has one key with the PIN 1234. A "signature" mixes the message's bytes with their places. */
#include <string.h>
#ifdef _WIN32
#pragma pack(push, 1)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
typedef unsigned long ulong;
typedef unsigned char byte;
typedef struct { byte major, minor; } version;
typedef struct {
	byte label[32], manufacturer[32], model[16], serial[16];
	ulong flags, numbers[10];
	version hardware, firmware;
	byte time[16];
} token_info;
typedef struct { ulong type; void *value; ulong size; } attribute;
typedef struct { ulong mechanism; void *parameter; ulong size; } mechanism;
typedef struct { void *functions[4]; ulong flags; void *reserved; } init_args;
typedef struct { version version; void *functions[68]; } function_list;

enum { LOGIN = 0x4, PAD = 0x100, INITIALIZED = 0x400, LOW = 0x10000, FINAL = 0x20000, LOCKED = 0x40000 };
static const struct { const char *label; ulong flags; } tokens[] = {
	{"always", LOGIN}, {"final", LOGIN | FINAL}, {"locked", LOGIN | LOCKED}, {"pad", LOGIN | PAD}, {"open", 0}, {"short", 0}, {"silent", 0},
};
enum { TOKENS = sizeof tokens / sizeof *tokens, PRIVATE = 11, PUBLIC = 22 };
static int initialized, current, found, begun, confirmed;

static ulong initialize(init_args *a) {
	if (initialized) return 0x191;
	if (!a || a->flags != 2 || a->functions[0] || a->reserved) return 0x7;
	initialized = 1;
	return 0;
}
static ulong slots(byte present, ulong *list, ulong *count) {
	if (!present || *count < TOKENS) return 0x150;
	for (ulong i = 0; i < TOKENS; i++) list[i] = 100 + i;
	*count = TOKENS;
	return 0;
}
static ulong token(ulong slot, token_info *t) {
	if (slot < 100 || slot >= 100 + TOKENS) return 0x3;
	memset(t, ' ', sizeof *t);
	memcpy(t->label, tokens[slot - 100].label, strlen(tokens[slot - 100].label));
	memcpy(t->serial, "0123456789abcdef", 16);
	t->flags = INITIALIZED | tokens[slot - 100].flags;
	return 0;
}
static ulong open_session(ulong slot, ulong flags, void *data, void *notify, ulong *session) {
	if (flags != 4 || data || notify) return 0x7;
	current = slot - 100;
	*session = 7;
	return 0;
}
static ulong close_session(ulong session) { return session == 7 ? 0 : 0xb3; }
static ulong login(ulong session, ulong user, byte *pin, ulong size) {
	int pad = tokens[current].flags & PAD;
	if (session != 7 || (pad ? pin != 0 || size : size != 4 || memcmp(pin, "1234", 4))) return 0xa0;
	if (user == 2) confirmed = begun;
	return user == 1 || user == 2 ? 0 : 0x103;
}
static ulong find_init(ulong session, attribute *a, ulong n) {
	found = 0;
	for (ulong i = 0; i < n; i++) {
		if (a[i].type == 0 && a[i].size == sizeof(ulong)) found = *(ulong *)a[i].value == 3 ? PRIVATE : PUBLIC;
		if (a[i].type == 3 && (a[i].size != 7 || memcmp(a[i].value, "release", 7))) found = 0;
	}
	if (found == PUBLIC && !strcmp(tokens[current].label, "silent")) found = 0;
	return 0;
}
static ulong find(ulong session, ulong *list, ulong most, ulong *count) {
	*count = found && most ? 1 : 0;
	if (*count) *list = found;
	found = 0;
	return 0;
}
static ulong find_final(ulong session) { return 0; }
static ulong give(attribute *a, const void *value, ulong size) {
	if (a->size < size) return 0x150;
	memcpy(a->value, value, size);
	a->size = size;
	return 0;
}
static ulong get(ulong session, ulong object, attribute *a, ulong n) {
	static const byte point[34] = {4, 32, 1, 2, 3};
	ulong edwards = 0x40;
	byte yes = !strcmp(tokens[current].label, "always");
	switch (a->type) {
	case 0x3: return give(a, "release", 7);
	case 0x100: return give(a, &edwards, sizeof edwards);
	case 0x102: return give(a, "\1", 1);
	case 0x181: if (object == PUBLIC) return give(a, point, sizeof point); break;
	case 0x202: if (object == PRIVATE) return give(a, &yes, 1); break;
	}
	a->size = ~0ul;
	return 0x12;
}
static ulong sign_init(ulong session, mechanism *m, ulong key) {
	if (m->mechanism != 0x1057 || m->parameter || m->size || key != PRIVATE) return 0x70;
	begun++;
	return 0;
}
static ulong sign(ulong session, byte *message, ulong size, byte *signature, ulong *length) {
	if (!strcmp(tokens[current].label, "always") && confirmed != begun) return 0x101;
	if (!strcmp(tokens[current].label, "short") && size > 1024) return 0x21;
	if (*length < 64) return 0x150;
	for (int i = 0; i < 64; i++) signature[i] = message[i * size / 64] ^ i;
	*length = 64;
	return 0;
}
static function_list list;
EXPORT ulong C_GetFunctionList(function_list **out) {
	void **f = list.functions;
	f[0] = initialize, f[4] = slots, f[6] = token, f[12] = open_session, f[13] = close_session, f[18] = login, f[24] = get, f[26] = find_init;
	f[27] = find, f[28] = find_final, f[42] = sign_init, f[43] = sign;
	*out = &list;
	return 0;
}
