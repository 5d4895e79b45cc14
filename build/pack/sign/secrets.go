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
	// Mask stands where a secret was.
	Mask = "[secret]"
	// shortSecret is how many bytes a secret has to have to be masked: every short word of a text may be a shorter one.
	shortSecret = 6
	// withheld stands for a whole text that may hold a short secret.
	withheld = "[not shown, because one of the secrets is too short to be looked for in it]"
	// maxSecret is how many bytes of a variable are taken for a secret. Tokens and keys have less.
	maxSecret = 64 << 10
)

// Secrets are values that nobody may see. The zero value has none. A Secrets is not changed once texts are masked.
type Secrets struct {
	forms [][]byte // as they may appear in a text, without ends of lines, longest first
	short bool
}

// Add makes a value a secret, and so what is common of it: base64 in every alignment, hexadecimal, in web addresses, in JSON, and
// each longer line of it. An empty value is none.
func (s *Secrets) Add(value string) {
	value = strings.Trim(value[:min(len(value), maxSecret)], "\r\n")
	if value == "" {
		return
	}
	if len(value) < shortSecret {
		s.short = true
		return
	}
	s.add(value)
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= 16 && line != value && !strings.HasPrefix(line, "-----") {
			s.add(line)
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

func (s *Secrets) add(value string) {
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

// base64At is what value looks like in base64 behind shift other bytes: without the characters that depend on its neighbours.
func base64At(encoding *base64.Encoding, value string, shift int) string {
	text := encoding.EncodeToString(append(make([]byte, shift), value...))
	from := (shift*8 + 5) / 6
	to := (shift + len(value)) * 8 / 6
	return text[from:to]
}

func withoutLines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), nil), []byte("\r"), nil)
}

// Mask gives a text without secrets. A secret that is broken into lines is found, too.
func (s *Secrets) Mask(text string) string { return s.maskEnd(text, 0) }

// maskEnd masks a text whose beginning was cut off. Its first bytes may be the rest of a secret: they are hidden in any case.
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

// longest is how many bytes the longest form of a secret has.
func (s *Secrets) longest() int {
	if s == nil || len(s.forms) == 0 {
		return 0
	}
	return len(s.forms[0])
}
