package netproto_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"collet/netproto"
)

// metadataFile is what an engine's pack carries.
func metadataFile(version string) string {
	return "FMDF\x01\x00" + string(rune(len(version))) + "\x00" + version
}

func TestParseMetadata(t *testing.T) {
	long := strings.Repeat("v", netproto.MaxMetadata)
	for name, test := range map[string]struct{ file, want, or string }{
		"as baked":        {metadataFile("fedcba9876543210") + "whatever follows", "fedcba9876543210", ""},
		"the longest":     {"FMDF\x01\x00\x00\x01" + long, long, ""},
		"too long":        {"FMDF\x01\x00\x01\x01" + long + "v", "", "257 bytes"},
		"empty":           {metadataFile(""), "", "0 bytes"},
		"cut short":       {metadataFile("fedcba")[:10], "", "6 bytes"},
		"another magic":   {"XMDF\x01\x00\x01\x00v", "", "begins with"},
		"another layout":  {"FMDF\x02\x00\x01\x00v", "", "layout 2"},
		"too few":         {"FMDF\x01\x00\x01", "", "too few"},
		"no text":         {"FMDF\x01\x00\x02\x00\xff\xfe", "", "is none"},
		"nothing":         {"", "", "too few"},
		"a letter":        {metadataFile("v"), "v", ""},
		"other alphabets": {"FMDF\x01\x00\x04\x00\xd0\xb8\xd0\xb8", "ии", ""},
	} {
		got, err := netproto.ParseMetadata([]byte(test.file))
		if got != test.want || (err == nil) != (test.or == "") || err != nil && !strings.Contains(err.Error(), test.or) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// archive makes a pack of name, content, name, content…
func archive(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPackMetadata(t *testing.T) {
	good := archive(t, "a.txt", "a", netproto.MetadataFile, metadataFile("fedcba9876543210"), "../odd", "x")
	damaged := bytes.Clone(good)
	at := bytes.Index(damaged, []byte("fedcba"))
	if at >= 0 {
		damaged[at] ^= 1
	} else {
		damaged[bytes.Index(damaged, []byte(netproto.MetadataFile))+len(netproto.MetadataFile)+3] ^= 0xFF
	}
	huge := bytes.Clone(archive(t, netproto.MetadataFile, metadataFile("v")))
	copy(huge[bytes.LastIndex(huge, []byte("PK\x05\x06"))+12:], "\xff\xff\xff\x7f")
	for name, test := range map[string]struct {
		pack []byte
		want string
		none bool
	}{
		"there":                    {good, "fedcba9876543210", false},
		"not there":                {archive(t, "a.txt", "a"), "", true},
		"in another folder":        {archive(t, "sub/"+netproto.MetadataFile, metadataFile("v")), "", true},
		"an empty archive":         {archive(t), "", true},
		"no archive":               {[]byte(strings.Repeat("core", 100)), "", true},
		"nothing":                  {nil, "", true},
		"a huge table of contents": {huge, "", true},
		"damaged":                  {damaged, "", false},
		"another file of the name": {archive(t, netproto.MetadataFile, "text"), "", false},
	} {
		got, err := netproto.PackMetadata(bytes.NewReader(test.pack), int64(len(test.pack)))
		if got != test.want || errors.Is(err, netproto.ErrNoMetadata) != test.none || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
