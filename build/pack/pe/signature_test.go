package pe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"collet/build/pack/pe"
	"collet/platform/testlevel"
)

// securityAt is the place of the entry for signatures in the headers of a wide program.
const securityAt = optionalAt + 112 + 4*8

// signed puts content at the end of a program as a signature.
func signed(image, content []byte) []byte {
	after := bytes.Clone(image)
	for len(after)%8 != 0 {
		after = append(after, 0)
	}
	table := binary.LittleEndian.AppendUint32(nil, uint32(8+len(content)))
	table = append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(table, 0x200), 2), content...)
	for len(table)%8 != 0 {
		table = append(table, 0)
	}
	binary.LittleEndian.PutUint32(after[securityAt:], uint32(len(after)))
	binary.LittleEndian.PutUint32(after[securityAt+4:], uint32(len(table)))
	return append(after, table...)
}

func signature(image []byte) ([]byte, error) {
	return pe.ReadSignature(bytes.NewReader(image), int64(len(image)))
}

func checkSigned(before, after []byte) error {
	return pe.CheckSigned(bytes.NewReader(before), int64(len(before)), bytes.NewReader(after), int64(len(after)))
}

func TestReadSignature(t *testing.T) {
	image := usual(built).bytes()
	if _, err := signature(image); !errors.Is(err, pe.Unsigned) {
		t.Error(err)
	}
	after := signed(image, []byte("who signs"))
	if got, err := signature(after); err != nil || string(got) != "who signs" {
		t.Errorf("%q, %v", got, err)
	}
	if err := pe.PatchPDB(after, "a.pdb"); !errors.Is(err, pe.Signed) {
		t.Errorf("a signed program was patched: %v", err)
	}
	at := len(image)
	for name, poke := range map[string]func(b []byte){
		"within the headers":  func(b []byte) { binary.LittleEndian.PutUint32(b[securityAt:], 0x10) },
		"beyond the end":      func(b []byte) { binary.LittleEndian.PutUint32(b[securityAt:], uint32(at+8)) },
		"far beyond the end":  func(b []byte) { binary.LittleEndian.PutUint32(b[securityAt:], 0xffffffff) },
		"too small":           func(b []byte) { binary.LittleEndian.PutUint32(b[securityAt+4:], 7) },
		"endless":             func(b []byte) { binary.LittleEndian.PutUint32(b[securityAt+4:], 0xffffffff) },
		"longer than its box": func(b []byte) { b[at]++; b[at+1]++ },
		"without a head":      func(b []byte) { b[at] = 7 },
		"of another kind":     func(b []byte) { b[at+6] = 1 },
	} {
		b := bytes.Clone(after)
		poke(b)
		if _, err := signature(b); !errors.Is(err, pe.Malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pe.ReadSignature(bytes.NewReader(image[:100]), int64(len(image))); !errors.Is(err, pe.Truncated) {
		t.Errorf("a file that shrinks: %v", err)
	}
	broken := errors.New("the disk is broken")
	if _, err := pe.ReadSignature(failing{broken}, 2000); !errors.Is(err, broken) {
		t.Errorf("a disk that is broken: %v", err)
	}
}

func TestCheckSigned(t *testing.T) {
	for _, tail := range []string{"", "odd"} {
		p := usual(built)
		p.tail = []byte(tail)
		image := p.bytes()
		after := signed(image, []byte("who signs"))
		binary.LittleEndian.PutUint32(after[optionalAt+64:], 0x1234) // signing fills the checksum in
		if err := checkSigned(image, after); err != nil {
			t.Error(err)
		}
		if err := checkSigned(image, image); !errors.Is(err, pe.Unsigned) {
			t.Errorf("not signed: %v", err)
		}
		if err := checkSigned(image, append(after, 0)); !errors.Is(err, pe.Changed) {
			t.Errorf("more at the end: %v", err)
		}
		if err := checkSigned(image, signed(append(bytes.Clone(image), make([]byte, 8)...), nil)); !errors.Is(err, pe.Changed) {
			t.Errorf("more before the signature: %v", err)
		}
		for at := range image {
			b := bytes.Clone(after)
			b[at]++
			free := at >= optionalAt+64 && at < optionalAt+68
			if err := checkSigned(image, b); (err == nil) != free {
				t.Fatalf("byte %d differs: %v", at, err)
			}
		}
	}
	if err := checkSigned([]byte("MZ"), nil); !errors.Is(err, pe.NotPE) {
		t.Error(err)
	}
	if err := checkSigned(usual(built).bytes(), []byte("MZ")); !errors.Is(err, pe.NotPE) {
		t.Error(err)
	}
}

// What osslsigncode signs is found, is the same below, and what it verifies breaks when a byte of the symbols' name is changed.
func TestRealSignature(t *testing.T) {
	testlevel.Lab(t)
	image, _ := linked(t, "x86_64", "/dll", "/noentry", "/Brepro")
	dir := t.TempDir()
	key, certificate, out := filepath.Join(dir, "key.pem"), filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "a.dll")
	tool(t, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=Somebody",
		"-addext", "extendedKeyUsage=codeSigning")
	before := load(t, image)
	if err := pe.PatchPDB(before, "Lathe.dll.pdb"); err != nil {
		t.Fatal(err)
	}
	write(t, image, before)
	tool(t, "osslsigncode", "sign", "-certs", certificate, "-key", key, "-h", "sha256", "-in", image, "-out", out)
	after := load(t, out)
	if err := checkSigned(before, after); err != nil {
		t.Error(err)
	}
	content, err := signature(after)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "signature"), content)
	if got := tool(t, "openssl", "pkcs7", "-inform", "DER", "-in", filepath.Join(dir, "signature"), "-print_certs"); !bytes.Contains([]byte(got), []byte("Somebody")) {
		t.Errorf("openssl reads %s", got)
	}
	tool(t, "osslsigncode", "verify", "-CAfile", certificate, "-in", out)
	at := bytes.Index(after, []byte("Lathe.dll.pdb"))
	after[at]++
	write(t, out, after)
	if said, err := exec.Command("osslsigncode", "verify", "-CAfile", certificate, "-in", out).CombinedOutput(); err == nil {
		t.Errorf("a signed program was patched, and osslsigncode says %s", said)
	}
	if err := checkSigned(before, after); !errors.Is(err, pe.Changed) {
		t.Error(err)
	}
}

func FuzzSignature(f *testing.F) {
	before := usual(built).bytes()
	f.Add(signed(before, []byte("who signs")))
	f.Fuzz(func(t *testing.T, after []byte) {
		_, errRead := signature(after)
		if err := checkSigned(before, after); err == nil && (errRead != nil || len(after) <= len(before)) {
			t.Fatal("a program without a signature was taken for signed")
		}
	})
}
