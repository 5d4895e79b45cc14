package compat

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Span is the logic versions in which a member exists: Since ≤ v < Until. Its zero value is always.
type Span struct {
	Since int32 // 0 is from the beginning
	Until int32 // the first version without it; 0 is never
}

// Visible reports whether a member exists for a logic version.
func Visible(member Span, logic int32) bool {
	return member.Since <= logic && (member.Until == 0 || logic < member.Until)
}

// Check refuses a span that no version is in.
func (s Span) Check() error {
	if s.Since < 0 || s.Until < 0 || s.Until != 0 && s.Until <= s.Since {
		return fmt.Errorf("since=%d until=%d is a span without versions", s.Since, s.Until)
	}
	return nil
}

// MaxWireNumber is the highest number of a member.
const MaxWireNumber = 1<<16 - 1

// Member is what a field's tag says: `wire:"3,since=6,until=9"`. A field without the tag, or with "-", is no member.
type Member struct {
	Number int // 1 to MaxWireNumber
	Span   Span
}

// TagKey is the key of a member's tag.
const TagKey = "wire"

// ParseMember reads the tag of a field; known is false where the field is no member.
func ParseMember(tag reflect.StructTag) (m Member, known bool, err error) {
	text, there := tag.Lookup(TagKey)
	if !there || text == "-" {
		return Member{}, false, nil
	}
	words := strings.Split(text, ",")
	if m.Number, err = strconv.Atoi(words[0]); err != nil || m.Number < 1 || m.Number > MaxWireNumber || strconv.Itoa(m.Number) != words[0] {
		return Member{}, true, fmt.Errorf("tag %s:%q: %q is no number from 1 to %d", TagKey, text, words[0], MaxWireNumber)
	}
	if m.Span, err = parseSpan(words[1:]); err != nil {
		return Member{}, true, fmt.Errorf("tag %s:%q: %w", TagKey, text, err)
	}
	return m, true, nil
}

// parseSpan reads "since=6" and "until=9", each at most once.
func parseSpan(words []string) (s Span, err error) {
	seen := make(map[string]bool)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 32)
		switch {
		case key != "since" && key != "until":
			return Span{}, fmt.Errorf("%q is neither since=… nor until=…", word)
		case seen[key]:
			return Span{}, fmt.Errorf("%s= is there twice", key)
		case err != nil || n < 1:
			return Span{}, fmt.Errorf("%q does not name a logic version above 0", word)
		}
		if seen[key] = true; key == "since" {
			s.Since = int32(n)
		} else {
			s.Until = int32(n)
		}
	}
	return s, s.Check()
}
