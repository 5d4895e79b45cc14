package release

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNumber is the largest number in a document of a release: 2^53 − 1, the largest integer that every JSON reader represents exactly.
const MaxNumber = 1<<53 - 1

// FormatError says what is wrong with the bytes of a document, and where. It is always the fault of the document's author.
type FormatError struct {
	Document string // "head", "listing", "sources" or "release entry"
	Offset   int    // bytes from the beginning of the document
	Reason   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s at byte %d", e.Document, e.Reason, e.Offset)
}

// canon codes the fields of one document in their one valid order. The code method of a document passes it each field
// once; reading selects the direction. The format is JSON without spaces, with sorted keys and whole numbers. In texts
// only the quote and the backslash are escaped. So a document has exactly one form, and all schemes of canonical JSON
// agree on it. After the first fault canon does nothing, so code methods need no checks; the fault is err.
type canon struct {
	document string
	reading  bool
	buf      []byte // reading: the document; writing: the output so far
	pos      int    // reading: where the next field begins
	err      error
}

// readDocument decodes data, all of it, with code.
func readDocument(document string, data []byte, limit int, code func(*canon)) error {
	c := &canon{document: document, reading: true, buf: data}
	if len(data) > limit {
		c.pos = limit
		c.fail(fmt.Sprintf("longer than %d bytes", limit))
		return c.err
	}
	if code(c); c.err == nil && c.pos != len(data) {
		c.fail("something follows the end")
	}
	return c.err
}

// writeDocument is the inverse of readDocument.
func writeDocument(document string, limit int, code func(*canon)) ([]byte, error) {
	c := &canon{document: document}
	if code(c); c.err == nil && len(c.buf) > limit {
		c.fail(fmt.Sprintf("longer than %d bytes", limit))
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.buf, nil
}

// fail records the first fault. When reading it is the author's, else the caller's.
func (c *canon) fail(reason string) {
	switch {
	case c.err != nil:
	case c.reading:
		c.err = &FormatError{Document: c.document, Offset: c.pos, Reason: reason}
	default:
		c.err = fmt.Errorf("write %s: %s", c.document, reason)
	}
}

// literal codes a fixed part of the document: braces, keys, colons.
func (c *canon) literal(s string) {
	switch {
	case c.err != nil:
	case !c.reading:
		c.buf = append(c.buf, s...)
	case !c.follows(s):
		c.fail(fmt.Sprintf("want %q", s))
	default:
		c.pos += len(s)
	}
}

// follows reports whether s follows; for reading only.
func (c *canon) follows(s string) bool {
	return len(c.buf)-c.pos >= len(s) && string(c.buf[c.pos:c.pos+len(s)]) == s
}

// number codes a whole number from 0 to limit.
func (c *canon) number(field string, value *uint64, limit uint64) {
	switch {
	case c.err != nil:
	case !c.reading && *value > limit:
		c.fail(fmt.Sprintf("%s is %d, more than %d", field, *value, limit))
	case !c.reading:
		c.buf = strconv.AppendUint(c.buf, *value, 10)
	default:
		c.readNumber(field, value, limit)
	}
}

func (c *canon) readNumber(field string, value *uint64, limit uint64) {
	digits := 0
	for digits < 20 && c.pos+digits < len(c.buf) && c.buf[c.pos+digits] >= '0' && c.buf[c.pos+digits] <= '9' {
		digits++
	}
	text := string(c.buf[c.pos : c.pos+digits])
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > limit || digits > 1 && text[0] == '0' {
		c.fail(fmt.Sprintf("%s is no plain number from 0 to %d", field, limit))
		return
	}
	*value = n
	c.pos += digits
}

// size codes a number of bytes from 0 to limit.
func (c *canon) size(field string, value *int64, limit int64) {
	if !c.reading && *value < 0 {
		c.fail(fmt.Sprintf("%s is negative", field))
		return
	}
	n := uint64(*value)
	c.number(field, &n, uint64(limit))
	*value = int64(n)
}

// number32 codes a number of 32 bits.
func (c *canon) number32(field string, value *uint32) {
	n := uint64(*value)
	c.number(field, &n, math.MaxUint32)
	*value = uint32(n)
}

// flag codes true or false.
func (c *canon) flag(field string, value *bool) {
	switch {
	case c.err != nil:
	case !c.reading:
		c.buf = strconv.AppendBool(c.buf, *value)
	case c.follows("true"):
		*value, c.pos = true, c.pos+len("true")
	case c.follows("false"):
		*value, c.pos = false, c.pos+len("false")
	default:
		c.fail(field + " is neither true nor false")
	}
}

// text codes a text of at most limit bytes. check returns its fault, or nothing.
func (c *canon) text(field string, value *string, limit int, check func(string) string) {
	if c.err != nil {
		return
	}
	start := c.pos
	if c.reading && !c.readText(field, value, limit) {
		return
	}
	reason := textFault(*value, limit)
	if reason == "" {
		reason = check(*value)
	}
	if reason != "" {
		c.pos = start
		c.fail(field + " " + reason)
		return
	}
	if !c.reading {
		c.writeText(*value)
	}
}

func (c *canon) writeText(s string) {
	c.buf = append(c.buf, '"')
	for i := range len(s) {
		if s[i] == '\\' || s[i] == '"' {
			c.buf = append(c.buf, '\\')
		}
		c.buf = append(c.buf, s[i])
	}
	c.buf = append(c.buf, '"')
}

// readText finds the end of a text and removes the escapes. limit bounds its allocation.
func (c *canon) readText(field string, value *string, limit int) bool {
	if !c.follows(`"`) {
		c.fail(field + " is no text")
		return false
	}
	rest := c.buf[c.pos+1 : min(len(c.buf), c.pos+limit+2)]
	if end := bytes.IndexAny(rest, `"\\`); end >= 0 && rest[end] == '"' { // the usual case
		*value, c.pos = string(rest[:end]), c.pos+end+2
		return true
	}
	var b strings.Builder
	for at := c.pos + 1; at < len(c.buf) && b.Len() <= limit; at++ {
		switch c.buf[at] {
		case '"':
			*value, c.pos = b.String(), at+1
			return true
		case '\\':
			if at++; at == len(c.buf) || c.buf[at] != '\\' && c.buf[at] != '"' {
				c.fail(field + " has an escape that is not needed")
				return false
			}
		}
		b.WriteByte(c.buf[at])
	}
	c.fail(fmt.Sprintf("%s does not end within %d bytes", field, limit))
	return false
}

// textFault rejects characters that can't be displayed: texts of a release don't need them, and they could confuse terminals.
func textFault(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "contains what can't be seen"
	default:
		return ""
	}
}

// digest codes a SHA-256 digest as 64 lower-case hex digits. The zero digest can't be written.
func (c *canon) digest(field string, value *Digest) {
	sum, known := value.SHA256()
	if !c.reading && !known {
		c.fail(field + " is no SHA-256 digest")
		return
	}
	if c.digits(field, sum[:]); c.reading && c.err == nil {
		*value = SHA256Digest(sum)
	}
}

// digits codes bytes in lower-case hex, of a fixed length.
func (c *canon) digits(field string, b []byte) {
	c.literal(`"`)
	switch n := 2 * len(b); {
	case c.err != nil:
	case !c.reading:
		c.buf = hex.AppendEncode(c.buf, b)
	case len(c.buf)-c.pos < n || !decodeLowerHex(b, c.buf[c.pos:c.pos+n]):
		c.fail(fmt.Sprintf("%s is not %d lower-case hex digits", field, n))
	default:
		c.pos += n
	}
	c.literal(`"`)
}

// decodeLowerHex decodes an even number of digits into the beginning of dst.
func decodeLowerHex[T string | []byte](dst []byte, src T) bool {
	for i := range len(src) / 2 {
		high, low := hexValue(src[2*i]), hexValue(src[2*i+1])
		if high|low > 0xf {
			return false
		}
		dst[i] = high<<4 | low
	}
	return true
}

// hexValue is the value of a digit; 0xff for any other byte.
func hexValue(b byte) byte {
	switch {
	case b >= '0' && b <= '9':
		return b - '0'
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10
	default:
		return 0xff
	}
}

// codeList codes an array of at most limit items. When reading, the input's length bounds its allocation.
func codeList[T any](c *canon, field string, items *[]T, limit int, code func(*canon, *T)) {
	c.literal("[")
	if c.err == nil && c.reading {
		*items = make([]T, 0, min(bytes.Count(c.buf[c.pos:], []byte("},{"))+1, limit))
	}
	for i := 0; c.err == nil; i++ {
		if c.reading && c.follows("]") || !c.reading && i == len(*items) {
			break
		}
		if i == limit {
			c.fail(fmt.Sprintf("%s holds more than %d", field, limit))
			return
		}
		if i > 0 {
			c.literal(",")
		}
		if c.reading {
			*items = append(*items, *new(T))
		}
		code(c, &(*items)[i])
	}
	c.literal("]")
}
