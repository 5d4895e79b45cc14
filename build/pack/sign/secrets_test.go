package sign_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"collet/build/pack/sign"
)

const secret = "pa$$ w0rd/ä+\"quoted\""

func secrets(values ...string) *sign.Secrets {
	var s sign.Secrets
	for _, v := range values {
		s.Add(v)
	}
	return &s
}

func TestMask(t *testing.T) {
	quoted, _ := json.Marshal(secret)
	hexed := hex.EncodeToString([]byte(secret))
	for name, form := range map[string]string{
		"as it is":         secret,
		"in a query":       url.QueryEscape(secret),
		"in a path":        url.PathEscape(secret),
		"in JSON":          strings.Trim(string(quoted), `"`),
		"hexadecimal":      hexed,
		"HEXADECIMAL":      strings.ToUpper(hexed),
		"broken in two":    secret[:7] + "\n" + secret[7:],
		"broken by DOS":    secret[:7] + "\r\n" + secret[7:],
		"a letter a line":  strings.Join(strings.Split(secret, ""), "\n"),
		"twice":            secret + secret,
		"beginning anew":   secret[:5] + secret,
		"hex over lines":   hexed[:16] + "\n" + hexed[16:],
		"base64":           base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 for names": base64.URLEncoding.EncodeToString([]byte(secret)),
	} {
		got := secrets(secret).Mask("before " + form + " after")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, sign.Mask) {
			t.Errorf("%s: %q", name, got)
		}
		rest := strings.NewReplacer("before ", "", " after", "", sign.Mask, "").Replace(got)
		if len(rest) > 5 {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
}

// In base64 a secret looks different behind other text: "user:password" is a common one.
func TestMaskInsideBase64(t *testing.T) {
	for before := range 7 {
		for after := range 4 {
			text := strings.Repeat("u", before) + secret + strings.Repeat("v", after)
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				got := secrets(secret).Mask(encoding.EncodeToString([]byte(text)))
				around, _, found := strings.Cut(got, sign.Mask)
				left, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(around, "="))
				if !found || strings.Contains(string(left), secret[:2]) {
					t.Errorf("%d before, %d after: %q", before, after, got)
				}
			}
		}
	}
}

func TestMaskOther(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		values           []string
	}{
		{"nothing to hide", "text", "text", nil},
		{"empty secret", "text", "text", []string{""}},
		{"empty text", "", "", []string{secret}},
		{"short secret", "an a is anywhere", "[not shown, because one of the secrets is too short to be looked for in it]", []string{"a"}},
		{"two secrets", "one-secret and other-secret", sign.Mask + " and " + sign.Mask, []string{"one-secret", "other-secret"}},
		{"one within the other", "my-long-secret-value", "my-" + sign.Mask + "-value", []string{"secret", "long-secret"}},
		{"overlapping", "abcdefghij", sign.Mask, []string{"abcdefg", "defghij"}},
		{"a line of a key", "it says MIIEvQIBADANBgkqhkiG9w0B", "it says " + sign.Mask, []string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n"}},
		{"the head of a key", "-----BEGIN KEY-----", "-----BEGIN KEY-----", []string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n"}},
		{"end of line after a secret", "a token is my-token\n", "a token is " + sign.Mask + "\n", []string{"my-token\n"}},
	} {
		if got := secrets(c.values...).Mask(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var none *sign.Secrets
	if got := none.Mask("text"); got != "text" {
		t.Error(got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("some secret", "before", "after")
	f.Add("line one of it\nline two of it", "b", "")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		trimmed := strings.Trim(value, "\r\n")
		if len(trimmed) < 6 || len(trimmed) > 1000 {
			return
		}
		if got := secrets(value).Mask(before + trimmed + after); strings.Contains(strings.ReplaceAll(got, sign.Mask, "\x00"), trimmed) {
			t.Fatalf("%q in %q", trimmed, got)
		}
	})
}
