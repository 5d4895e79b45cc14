package solid_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"collet/netproto/solid"
)

// decodeCalls decodes a content in parts of at most step bytes, as a client that gets them one after the other does.
func decodeCalls(t testing.TB, content []byte, step int) []byte {
	t.Helper()
	content = bytes.Clone(content)
	for at, end := 0, 0; at < len(content); {
		end = min(end+step, len(content))
		done := solid.DecodeCalls(content[at:end], int64(at), int64(len(content)))
		if done < end-at-4 || done > end-at || end == len(content) && done < end-at {
			t.Fatalf("%d of %d bytes from %d on are decoded", done, end-at, at)
		}
		at += done
	}
	return content
}

// TestCalls: distances from minus the place of a call to the content's size less 1 are replaced.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ plain, coded string }{
		"nothing":                  {"", ""},
		"no call":                  {"0102030405060708", "0102030405060708"},
		"at the beginning":         {"e8030000000000000000", "e8030000000000000000"},
		"two calls of one place":   {"90e80600000090e80000000090", "90e80700000090e80700000090"},
		"a number that wraps":      {"90909090e808000000", "90909090e8ffffffff"},
		"below the smallest":       {"9090e8fdffffff", "9090e8fdffffff"},
		"the smallest distance":    {"9090e8feffffff", "9090e800000000"},
		"above the largest":        {"9090e807000000", "9090e807000000"},
		"cut off":                  {"909090e8000000", "909090e8000000"},
		"a call in a call's bytes": {"e8e8000000e801000000", "e8e8000000e806000000"},
	} {
		plain, err := hex.DecodeString(test.plain)
		if err != nil {
			t.Fatal(err)
		}
		content := bytes.Clone(plain)
		solid.EncodeCalls(content)
		if got := hex.EncodeToString(content); got != test.coded {
			t.Errorf("%s: %s, want %s", name, got, test.coded)
		}
		for step := range 8 {
			if got := decodeCalls(t, content, step+1); !bytes.Equal(got, plain) {
				t.Errorf("%s in steps of %d: %x", name, step+1, got)
			}
		}
	}
}

func FuzzCalls(f *testing.F) {
	f.Add([]byte("\x90\xe8\x06\x00\x00\x00\x90\xe8\x00\x00\x00\x00\x90"), 3)
	f.Add([]byte("\xe8\xe8\xe8\xff\xff\xff\xff\xe8\xe8\xe8\x00\x00\x00\x00\xe8"), 1)
	f.Add(bytes.Repeat([]byte{0xe8, 1, 0, 0, 0}, 1<<10), 100)
	f.Fuzz(func(t *testing.T, plain []byte, step int) {
		if step < 1 || len(plain)/step > 1<<12 {
			return
		}
		content := bytes.Clone(plain)
		solid.EncodeCalls(content)
		if got := decodeCalls(t, content, step); !bytes.Equal(got, plain) {
			t.Fatalf("%x became %x and then %x", plain, content, got)
		}
	})
}
