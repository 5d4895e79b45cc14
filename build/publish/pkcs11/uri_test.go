package pkcs11

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// library is an absolute path of this system.
func library() string {
	if runtime.GOOS == "windows" {
		return `C:\token.dll`
	}
	return "/usr/lib/token.so"
}

func TestParseURI(t *testing.T) {
	t.Parallel()
	slot := uint64(7)
	module := "?module-path=" + library()
	for text, want := range map[string]URI{
		"pkcs11:object=release" + module: {Object: "release", Module: library()},
		"pkcs11:token=The%20Lathe;serial=0%3b1;id=%00%FF;type=private" + module + "&pin-source=file:" + library(): {
			Token: "The Lathe", Serial: "0;1", ID: []byte{0, 255}, Module: library(), PINSource: library()},
		"pkcs11:manufacturer=M;model=a+b&c;slot-id=7;object=%e8%bb%8a" + module + "&pin-source=file://" + library(): {
			Manufacturer: "M", Model: "a+b&c", Slot: &slot, Object: "車", Module: library(), PINSource: library()},
	} {
		got, err := ParseURI(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if again, err := ParseURI(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s is written as %s, which is %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  "has to begin with pkcs11:",
		"file:/key":                         "has to begin with pkcs11:",
		"pkcs11:object=a":                   "it names no module",
		"pkcs11:" + module:                  "it names no key",
		"pkcs11:object=a;object=b" + module: "object is there twice",
		"pkcs11:object=a;library-version=3" + module:     `"library-version" selects nothing here`,
		"pkcs11:object=a;type=cert" + module:             "can't sign",
		"pkcs11:object=a;slot-id=x" + module:             `slot-id "x" is no number`,
		"pkcs11:object" + module:                         "is no attribute",
		"pkcs11:object=%4" + module:                      "is no attribute",
		"pkcs11:object=%00" + module:                     "has a zero byte",
		"pkcs11:object=a?module-path=token.so":           "want an absolute path",
		"pkcs11:object=a?module-name=token":              `"module-name" is not known`,
		"pkcs11:object=a" + module + "&pin-source=|pass": "a command is not run",
		"pkcs11:object=a" + module + "&pin-source=pin":   "want an absolute path",
		"pkcs11:object=a;" + strings.Repeat("x", MaxURI): "more than 2048 bytes",
	} {
		if got, err := ParseURI(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %+v, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"pkcs11:object=a;pin-value=4711" + module, "pkcs11:object=a" + module + "&pin-value=4711"} {
		if _, err := ParseURI(text); err == nil || !strings.Contains(err.Error(), "pin-value is not accepted") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	f.Add("pkcs11:token=a%20b;id=%01;object=c?module-path=" + library() + "&pin-source=file:" + library())
	f.Add("pkcs11:slot-id=1;id=%FF?module-path=//a%26b")
	f.Add("pkcs11:object=a;id=?module-path=" + library())
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURI(text)
		if err != nil {
			return
		}
		written := u.String()
		if strings.ContainsAny(written, "\r\n") {
			t.Errorf("%q has a line break", written)
		}
		if len(written) > MaxURI {
			return // more is escaped than before
		}
		if again, err := ParseURI(written); err != nil || !reflect.DeepEqual(again, u) {
			t.Errorf("%+v is written as %s, which is %+v, %v", u, written, again, err)
		}
	})
}

// point is a public key in the three forms of modules.
var point = bytes.Repeat([]byte{0x42, 0x04}, 16)

func TestParsePoint(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "\x04\x20", "\x03\x21\x00"} {
		if got, err := parsePoint(append([]byte(prefix), point...)); err != nil || !bytes.Equal(got, point) {
			t.Errorf("%X: %X, %v", prefix, got, err)
		}
	}
	for _, wrong := range [][]byte{nil, point[1:], append([]byte{4, 31}, point...), append([]byte{3, 33, 1}, point...), bytes.Repeat(point, 2)} {
		if got, err := parsePoint(wrong); err == nil {
			t.Errorf("%X is %X", wrong, got)
		}
	}
}

func FuzzParsePoint(f *testing.F) {
	for _, prefix := range []string{"", "\x04\x20", "\x03\x21\x00", "\x04"} {
		f.Add(append([]byte(prefix), point...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePoint(data)
		if err == nil && (len(p) != ed25519.PublicKeySize || !bytes.HasSuffix(data, p) || len(data) > len(p)+3) {
			t.Errorf("%X is %X", data, p)
		}
	})
}

// TestLastTry: a PIN that is not typed is never the one that locks a token.
func TestLastTry(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pin")
	for content, want := range map[string]string{"1234\r\n5678": "1234", "1234": "1234"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := NewTokens(nil).findPIN(token{}, URI{PINSource: file}); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	if got, err := NewTokens(nil).findPIN(token{flags: tokenFinalTry}, URI{PINSource: file}); err == nil || !strings.Contains(err.Error(), "was not tried") {
		t.Errorf("%q, %v", got, err)
	}
	refusal := errors.New("nobody is there")
	tokens := NewTokens(func(name string, last bool) ([]byte, error) {
		if name != "lathe" || !last {
			t.Errorf("asked for %q, %v", name, last)
		}
		return nil, refusal
	})
	if _, err := tokens.findPIN(token{label: "lathe", flags: tokenFinalTry}, URI{}); !errors.Is(err, refusal) {
		t.Error(err)
	}
	for want, flags := range map[string]uint64{"its PIN is locked": tokenLocked | tokenFinalTry, "one try is left": tokenFinalTry | tokenPINLow, "more tries are left": tokenPINLow, "does not say": 0} {
		if got := (token{flags: flags}).tries(); !strings.Contains(got, want) {
			t.Errorf("%X: %s", flags, got)
		}
	}
}
