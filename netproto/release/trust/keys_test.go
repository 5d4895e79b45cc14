package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"collet/netproto/release/trust"
	"collet/platform/testlevel"
)

func TestKeyFiles(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t) // scrypt is slow on purpose
	key, passphrase := newKey(t), []byte("correct horse")
	file, err := key.Encode(passphrase)
	if err != nil || !trust.NeedsPassphrase(file) || len(file) > trust.MaxKeyFile {
		t.Fatalf("%s, %v", file, err)
	}
	back, err := trust.ParsePrivateKey(file, passphrase)
	if err != nil || back.Public() != key.Public() || back.Development() {
		t.Fatalf("%v", err)
	}
	for _, wrong := range []string{"", "Correct horse"} {
		if _, err := trust.ParsePrivateKey(file, []byte(wrong)); !errors.Is(err, trust.ErrPassphrase) {
			t.Errorf("passphrase %q: %v", wrong, err)
		}
	}
	for _, short := range []string{"", "1234567"} {
		if file, err := key.Encode([]byte(short)); err == nil {
			t.Errorf("passphrase %q: %s", short, file)
		}
	}
}

func TestDevelopmentKeys(t *testing.T) {
	t.Parallel()
	key, err := trust.GenerateKey(true)
	if err != nil || !key.Development() || !key.Public().Development {
		t.Fatalf("%v", err)
	}
	file, err := key.Encode(nil)
	if err != nil || trust.NeedsPassphrase(file) || !strings.Contains(string(file), "DEVELOPMENT") {
		t.Fatalf("%s, %v", file, err)
	}
	if back, err := trust.ParsePrivateKey(file, nil); err != nil || back.Public() != key.Public() {
		t.Errorf("%v", err)
	}
	if file, err := key.Encode([]byte("correct horse")); err == nil {
		t.Errorf("a development key with a passphrase: %s", file)
	}
	public := key.Public()
	text, err := public.Encode()
	if err != nil || !strings.Contains(string(text), "DEVELOPMENT") {
		t.Fatalf("%s, %v", text, err)
	}
	if back, err := trust.ParsePublicKey(text); err != nil || back != public {
		t.Errorf("%+v, %v", back, err)
	}
	unmarked := public
	if unmarked.Development = false; unmarked.ID() != public.ID() || len(public.ID()) != 64 {
		t.Errorf("the mark changes the id %s", public.ID())
	}
}

func TestPublicKeyFiles(t *testing.T) {
	t.Parallel()
	key := newKey(t).Public()
	text, err := key.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := trust.ParsePublicKey(text); err != nil || back != key || back.ID() != key.ID() {
		t.Errorf("%+v, %v", back, err)
	}
	if newKey(t).Public().ID() == key.ID() {
		t.Error("two keys have one id")
	}
}

func TestBadKeyFiles(t *testing.T) {
	t.Parallel()
	key, err := trust.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	file, err := key.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.Public().Encode()
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(other.Public())
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	for name, bad := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "two keys": append(bytes.Clone(file), file...), "a tail": append(bytes.Clone(file), 'x'),
		"half": file[:len(file)/2], "a public key": public, "another kind": block("EC PRIVATE KEY", der), "another algorithm": block("COLLET DEVELOPMENT PRIVATE KEY", der),
		"no key": block("COLLET DEVELOPMENT PRIVATE KEY", []byte("junk")), "no box": block("COLLET ENCRYPTED PRIVATE KEY", []byte("junk")),
		"hard to guess": block("COLLET ENCRYPTED PRIVATE KEY", []byte(`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1},"salt":""},"cipher":{"name":"nacl/secretbox","nonce":""},"ciphertext":""}`)),
		"too long":      block("COLLET DEVELOPMENT PRIVATE KEY", make([]byte, trust.MaxKeyFile)),
	} {
		if k, err := trust.ParsePrivateKey(bad, []byte("correct horse")); err == nil || k != nil {
			t.Errorf("%s was taken for a key", name)
		}
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "a private key": file, "another algorithm": block("COLLET PUBLIC KEY", publicDER), "no key": block("COLLET PUBLIC KEY", []byte("junk")),
	} {
		if k, err := trust.ParsePublicKey(bad); err == nil {
			t.Errorf("%s was taken for the key %+v", name, k)
		}
	}
}

// FuzzParsePrivateKey reads plain files only: opening encrypted ones is slow on purpose.
func FuzzParsePrivateKey(f *testing.F) {
	key, err := trust.GenerateKey(true)
	if err != nil {
		f.Fatal(err)
	}
	file, err := key.Encode(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		if trust.NeedsPassphrase(data) {
			return
		}
		k, err := trust.ParsePrivateKey(data, nil)
		if (k == nil) != (err != nil) {
			t.Fatalf("%v, %v", k, err)
		}
		if k != nil && !k.Development() {
			t.Fatal("a plain key without the mark")
		}
	})
}

// FuzzParsePublicKey: a file that is taken is written again as a file of the same key, and nothing else of a peer's is a key.
func FuzzParsePublicKey(f *testing.F) {
	for _, development := range []bool{false, true} {
		key, err := trust.GenerateKey(development)
		if err != nil {
			f.Fatal(err)
		}
		file, err := key.Public().Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add([]byte("-----BEGIN COLLET PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END COLLET PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := trust.ParsePublicKey(data)
		if err != nil {
			return
		}
		file, err := key.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := trust.ParsePublicKey(file)
		if err != nil || again != key || again.ID() != key.ID() {
			t.Fatalf("%q: %v became %v, %v", data, key, again, err)
		}
	})
}
