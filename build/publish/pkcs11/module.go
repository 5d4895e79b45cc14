package pkcs11

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"collet/platform/text"
)

// Positions of functions in CK_FUNCTION_LIST.
const (
	fnInitialize        = 0
	fnGetSlotList       = 4
	fnGetTokenInfo      = 6
	fnOpenSession       = 12
	fnCloseSession      = 13
	fnLogin             = 18
	fnGetAttributeValue = 24
	fnFindObjectsInit   = 26
	fnFindObjects       = 27
	fnFindObjectsFinal  = 28
	fnSignInit          = 42
	fnSign              = 43
)

// Attributes, classes, types and flags that are used here.
const (
	attributeClass        = 0x000 // CKA_CLASS
	attributeLabel        = 0x003 // CKA_LABEL
	attributeKeyType      = 0x100 // CKA_KEY_TYPE
	attributeID           = 0x102 // CKA_ID
	attributePoint        = 0x181 // CKA_EC_POINT
	attributeAuthenticate = 0x202 // CKA_ALWAYS_AUTHENTICATE

	classPublic  = 2      // CKO_PUBLIC_KEY
	classPrivate = 3      // CKO_PRIVATE_KEY
	typeEdwards  = 0x40   // CKK_EC_EDWARDS
	eddsa        = 0x1057 // CKM_EDDSA

	flagOSLocking = 2 // CKF_OS_LOCKING_OK
	flagSerial    = 4 // CKF_SERIAL_SESSION
	userNormal    = 1 // CKU_USER
	userContext   = 2 // CKU_CONTEXT_SPECIFIC

	tokenLogin       = 0x00004 // CKF_LOGIN_REQUIRED
	tokenPINPad      = 0x00100 // CKF_PROTECTED_AUTHENTICATION_PATH
	tokenInitialized = 0x00400 // CKF_TOKEN_INITIALIZED
	tokenPINLow      = 0x10000 // CKF_USER_PIN_COUNT_LOW
	tokenFinalTry    = 0x20000 // CKF_USER_PIN_FINAL_TRY
	tokenLocked      = 0x40000 // CKF_USER_PIN_LOCKED
)

const (
	// maxSlots is how many slots of a module are looked at: an HSM has one for each of its partitions.
	maxSlots = 256
	// maxObjects is how many keys of a token are looked at. All that a URI selects have to be among them.
	maxObjects = 256
	// maxValue is the length of the longest attribute that is read, in bytes: labels, ids and points are shorter.
	maxValue = 4096
)

// pointer is the size of a pointer in bytes. Structures consist of characters, CK_ULONG and pointers, at multiples of their size, so that none of
// those used here has a gap, on any system. Only CK_FUNCTION_LIST may have one.
const pointer = int(unsafe.Sizeof(uintptr(0)))

// module is a library that is loaded and initialised.
type module struct {
	path      string
	functions unsafe.Pointer // CK_FUNCTION_LIST
}

func load(path string) (*module, error) {
	get, err := open(path, "C_GetFunctionList")
	if err != nil {
		return nil, fmt.Errorf("load PKCS#11 module %s: %w", path, err)
	}
	m := &module{path: path}
	err = result(call(get, uintptr(unsafe.Pointer(&m.functions))))
	if err == nil && m.functions == nil {
		err = errors.New("it gives no functions")
	}
	if err == nil {
		args := appendWord(make([]byte, 4*pointer), flagOSLocking) // CK_C_INITIALIZE_ARGS, which ends with a reserved pointer
		err = m.do(fnInitialize, append(args, make([]byte, pointer)...))
	}
	if err != nil && !errors.Is(err, errInitialised) {
		return nil, fmt.Errorf("start PKCS#11 module %s: %w", path, err)
	}
	return m, nil
}

// do calls a function of the module. Arguments are numbers, as uint64, and memory, as []byte, which is passed by its address: empty memory
// is a null pointer.
func (m *module) do(function int, args ...any) error {
	var pinned runtime.Pinner
	defer pinned.Unpin()
	values := make([]uintptr, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case uint64:
			values[i] = uintptr(a)
		case []byte:
			values[i] = addressOf(&pinned, a)
		}
	}
	return result(call(*(*uintptr)(unsafe.Add(m.functions, first+function*pointer)), values...))
}

// addressOf is the address of memory that stays where it is until pinned is unpinned.
func addressOf(pinned *runtime.Pinner, data []byte) uintptr {
	if len(data) == 0 {
		return 0
	}
	p := unsafe.SliceData(data)
	pinned.Pin(p)
	return uintptr(unsafe.Pointer(p))
}

// appendWord appends a CK_ULONG.
func appendWord(b []byte, n uint64) []byte {
	if word == 4 {
		return binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return binary.NativeEndian.AppendUint64(b, n)
}

// wordAt reads a CK_ULONG.
func wordAt(b []byte, at int) uint64 {
	if word == 4 {
		return uint64(binary.NativeEndian.Uint32(b[at:]))
	}
	return binary.NativeEndian.Uint64(b[at:])
}

// unavailable is CK_UNAVAILABLE_INFORMATION, the greatest CK_ULONG.
const unavailable = 1<<(8*word) - 1

// attribute is a CK_ATTRIBUTE.
type attribute struct {
	kind  uint64
	value []byte
}

// number is an attribute with a number.
func number(kind, n uint64) attribute { return attribute{kind, appendWord(nil, n)} }

// template is an array of CK_ATTRIBUTE, valid until pinned is unpinned.
func template(pinned *runtime.Pinner, attributes ...attribute) (array []byte) {
	for _, a := range attributes {
		array = appendWord(array, a.kind)
		address := uint64(addressOf(pinned, a.value))
		if pointer == 4 {
			array = binary.NativeEndian.AppendUint32(array, uint32(address))
		} else {
			array = binary.NativeEndian.AppendUint64(array, address)
		}
		array = appendWord(array, uint64(len(a.value)))
	}
	return array
}

// slots are the slots that have a token.
func (m *module) slots() ([]uint64, error) {
	count := appendWord(nil, maxSlots)
	list := make([]byte, maxSlots*word)
	if err := m.do(fnGetSlotList, uint64(1), list, count); err != nil {
		return nil, fmt.Errorf("list the tokens of %s: %w", m.path, err)
	}
	return words(list, wordAt(count, 0)), nil
}

// words reads the first n CK_ULONG, or all if there are fewer.
func words(list []byte, n uint64) (out []uint64) {
	for i := range min(n, uint64(len(list)/word)) {
		out = append(out, wordAt(list, int(i)*word))
	}
	return out
}

// Fields of CK_TOKEN_INFO, in bytes: four texts, the flags, ten numbers, two versions, the time.
const (
	labelEnd        = 32
	manufacturerEnd = labelEnd + 32
	modelEnd        = manufacturerEnd + 16
	serialEnd       = modelEnd + 16
	tokenInfoSize   = serialEnd + 11*word + 4 + 16
)

// token is what a token says of itself.
type token struct {
	slot                               uint64
	label, manufacturer, model, serial string
	flags                              uint64
}

func (m *module) token(slot uint64) (token, error) {
	info := make([]byte, (tokenInfoSize+pointer-1)/pointer*pointer)
	if err := m.do(fnGetTokenInfo, slot, info); err != nil {
		return token{}, err
	}
	text := func(from, to int) string { return strings.TrimRight(string(info[from:to]), " \x00") }
	return token{
		slot: slot, label: text(0, labelEnd), manufacturer: text(labelEnd, manufacturerEnd), model: text(manufacturerEnd, modelEnd),
		serial: text(modelEnd, serialEnd), flags: wordAt(info, serialEnd),
	}, nil
}

// String is the token in messages.
func (t token) String() string {
	return fmt.Sprintf("%s (serial %s)", text.Quote(t.label), text.Quote(t.serial))
}

// tries is what the token reports of the tries that are left. PKCS#11 has no number of them.
func (t token) tries() string {
	switch {
	case t.flags&tokenLocked != 0:
		return "its PIN is locked"
	case t.flags&tokenFinalTry != 0:
		return "one try is left before its PIN is locked"
	case t.flags&tokenPINLow != 0:
		return "a wrong PIN was entered since the last right one; more tries are left, but it does not say how many"
	}
	return "it does not say how many tries are left"
}

// session is an open session.
type session struct {
	*module
	handle uint64
}

func (m *module) openSession(slot uint64) (*session, error) {
	handle := appendWord(nil, 0)
	if err := m.do(fnOpenSession, slot, uint64(flagSerial), uint64(0), uint64(0), handle); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return &session{m, wordAt(handle, 0)}, nil
}

func (s *session) close() error { return s.do(fnCloseSession, s.handle) }

// find lists the objects that have these attributes.
func (s *session) find(attributes ...attribute) (objects []uint64, err error) {
	var pinned runtime.Pinner
	defer pinned.Unpin()
	if err := s.do(fnFindObjectsInit, s.handle, template(&pinned, attributes...), uint64(len(attributes))); err != nil {
		return nil, fmt.Errorf("look for keys: %w", err)
	}
	list, count := make([]byte, maxObjects*word), appendWord(nil, 0)
	err = s.do(fnFindObjects, s.handle, list, uint64(maxObjects), count)
	if err = errors.Join(err, s.do(fnFindObjectsFinal, s.handle)); err != nil {
		return nil, fmt.Errorf("look for keys: %w", err)
	}
	return words(list, wordAt(count, 0)), nil
}

// value reads an attribute of an object. It is nil if the object has none.
func (s *session) value(object, kind uint64) []byte {
	var pinned runtime.Pinner
	defer pinned.Unpin()
	value := make([]byte, maxValue)
	array := template(&pinned, attribute{kind, value})
	err := s.do(fnGetAttributeValue, s.handle, object, array, uint64(1))
	if n := wordAt(array, word+pointer); err == nil && n != unavailable && n <= maxValue {
		return value[:n]
	}
	return nil
}

// number reads an attribute that is a number. unavailable if the object has none.
func (s *session) number(object, kind uint64) uint64 {
	if v := s.value(object, kind); len(v) == word {
		return wordAt(v, 0)
	}
	return unavailable
}
