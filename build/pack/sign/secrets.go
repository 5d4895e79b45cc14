package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// Mask replaces a secret.
	Mask = "[secret]"
	// shortSecret is the minimum length in bytes of a secret that can be masked: shorter ones could match any word of a text.
	shortSecret = 6
	// withheld replaces a whole text that may contain a short secret.
	withheld = "[not shown, because one of the secrets is too short to be looked for in it]"
	// maxSecret limits the bytes of a variable that are treated as a secret. Tokens and keys are shorter.
	maxSecret = 64 << 10
)

// Secrets are values that must not be shown. The zero value is empty. A Secrets must not change once it masks texts.
type Secrets struct {
	forms [][]byte // possible spellings in a text, without line ends, longest first
	short bool
}

// Add adds a secret in its common encodings: base64 in every alignment, hexadecimal, URL, JSON, and each of its longer lines. An empty
// value is ignored.
func (s *Secrets) Add(value string) {
	value = strings.Trim(value[:min(len(value), maxSecret)], "\r\n")
	if value == "" {
		return
	}
	if len(value) < shortSecret {
		s.short = true
		return
	}
	s.addForm(value)
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= 16 && line != value && !strings.HasPrefix(line, "-----") {
			s.addForm(line)
		}
	}
	slices.SortFunc(s.forms, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	s.forms = slices.CompactFunc(s.forms, bytes.Equal)
}

func (s *Secrets) addForm(value string) {
	quoted, _ := json.Marshal(value) // text always has JSON
	texts := []string{
		value, url.QueryEscape(value), url.PathEscape(value), strings.Trim(string(quoted), `"`),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for shift := range 3 {
		texts = append(texts, base64At(base64.RawStdEncoding, value, shift), base64At(base64.RawURLEncoding, value, shift))
	}
	for _, text := range texts {
		s.forms = append(s.forms, withoutLines([]byte(text)))
	}
}

// base64At returns value in base64 after shift other bytes, without the characters that depend on its neighbours.
func base64At(encoding *base64.Encoding, value string, shift int) string {
	text := encoding.EncodeToString(append(make([]byte, shift), value...))
	from := (shift*8 + 5) / 6
	to := (shift + len(value)) * 8 / 6
	return text[from:to]
}

func withoutLines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), nil), []byte("\r"), nil)
}

// Mask returns a text without secrets. It also finds secrets that are broken into lines.
func (s *Secrets) Mask(text string) string { return s.maskEnd(text, 0) }

// maskEnd masks a text with a truncated start. Its first bytes may be the rest of a secret, so they are always hidden.
func (s *Secrets) maskEnd(text string, first int) string {
	if s == nil || text == "" {
		return text
	}
	if s.short {
		return withheld
	}
	plain, places := make([]byte, 0, len(text)), make([]int, 0, len(text))
	for i := range len(text) {
		if text[i] != '\n' && text[i] != '\r' {
			plain, places = append(plain, text[i]), append(places, i)
		}
	}
	hidden := make([]bool, len(text))
	for i := range min(first, len(text)) {
		hidden[i] = true
	}
	for _, form := range s.forms {
		for at := 0; ; {
			found := bytes.Index(plain[at:], form)
			if found < 0 {
				break
			}
			at += found
			for i := places[at]; i <= places[at+len(form)-1]; i++ {
				hidden[i] = true
			}
			at++
		}
	}
	return masked(text, hidden)
}

func masked(text string, hidden []bool) string {
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(Mask)
		}
	}
	return b.String()
}

// longest returns the length in bytes of the longest spelling.
func (s *Secrets) longest() int {
	if s == nil || len(s.forms) == 0 {
		return 0
	}
	return len(s.forms[0])
}
