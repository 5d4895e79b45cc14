package pkcs11

import "fmt"

// code is a CK_RV other than CKR_OK.
type code uint32

const (
	errInitialised code = 0x191 // CKR_CRYPTOKI_ALREADY_INITIALIZED
	errLoggedIn    code = 0x100 // CKR_USER_ALREADY_LOGGED_IN
	errPIN         code = 0x0a0 // CKR_PIN_INCORRECT
	errPINInvalid  code = 0x0a1 // CKR_PIN_INVALID
	errPINLength   code = 0x0a2 // CKR_PIN_LEN_RANGE
	errPINLocked   code = 0x0a4 // CKR_PIN_LOCKED
	errDataLength  code = 0x021 // CKR_DATA_LEN_RANGE
	errMechanism   code = 0x070 // CKR_MECHANISM_INVALID
	errKeyType     code = 0x063 // CKR_KEY_TYPE_INCONSISTENT
)

// Error is what a person can use, and the code to look up in the token's manual.
func (c code) Error() string {
	words, known := map[code]string{
		0x002:         "the module has no memory left",
		0x005:         "the module reports a general failure",
		0x006:         "the function failed",
		0x007:         "the module does not accept what it was given",
		0x00a:         "the module can't be used by several threads",
		0x030:         "the device reports an error",
		0x031:         "the device has no memory left",
		0x032:         "the token was removed",
		0x050:         "the function was cancelled",
		0x054:         "the module lacks this function",
		0x068:         "the key may not sign",
		errDataLength: "it signs shorter messages only",
		errMechanism:  "it has no Ed25519 (CKM_EDDSA)",
		errKeyType:    "the key is of another kind",
		errPIN:        "the PIN is wrong",
		errPINInvalid: "the PIN has characters that it does not accept",
		errPINLength:  "the PIN has a length that it does not accept",
		0x0a3:         "the PIN has expired",
		errPINLocked:  "the PIN is locked",
		0x0b0:         "the session was closed",
		0x0b1:         "too many sessions are open",
		0x0e0:         "no token is there",
		0x0e1:         "the token is not known to the module",
		errLoggedIn:   "the user is logged in already",
		0x101:         "a login is needed",
		0x102:         "the token has no PIN of a user yet",
		0x104:         "another user is logged in",
	}[c]
	if !known {
		words = "the module reports an error"
	}
	return fmt.Sprintf("%s (CKR 0x%x)", words, uint32(c))
}

// result makes an error of a function's return value.
func result(value uintptr) error {
	if c := code(value); c != 0 { // CK_ULONG has 4 bytes on Windows, and what stands above them in the register means nothing
		return c
	}
	return nil
}
