package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth is the deepest accepted nesting of JSON metadata. Ours has seven levels; the rest is for fields of later
// programs.
const maxDepth = 16

// scope is an open object or array.
type scope struct {
	keys map[string]bool // the lower-cased keys of an object so far; nil for an array
	key  bool            // the next token of the object is a key
}

// checkJSON rejects JSON that two parsers could read differently, or that could crash one: duplicate keys, also by case;
// keys with other characters than printable ASCII; null; too deep nesting; truncated data and trailing data. It checks
// tokens only and trusts no content, so it may run before signatures are checked.
func checkJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []scope
	for first := true; first || len(open) > 0; first = false {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return errors.New("it is cut off")
		}
		if err != nil {
			return err
		}
		if open, err = checkToken(open, token); err != nil {
			return err
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

// checkToken processes one token.
func checkToken(open []scope, token json.Token) ([]scope, error) {
	top := len(open) - 1
	if top >= 0 && open[top].key {
		if key, is := token.(string); is {
			if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
				return nil, fmt.Errorf("the key %q has characters other than ASCII's", key)
			}
			folded := strings.ToLower(key)
			if open[top].keys[folded] {
				return nil, fmt.Errorf("the key %q stands twice", key)
			}
			open[top].keys[folded], open[top].key = true, false
			return open, nil
		}
	}
	switch token {
	case nil:
		return nil, errors.New("it contains null")
	case json.Delim('{'), json.Delim('['):
		if len(open) == maxDepth {
			return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
		}
		next := scope{}
		if token == json.Delim('{') {
			next = scope{keys: map[string]bool{}, key: true}
		}
		return append(open, next), nil
	case json.Delim('}'), json.Delim(']'):
		open = open[:top]
	}
	if top = len(open) - 1; top >= 0 && open[top].keys != nil {
		open[top].key = true // a value has ended
	}
	return open, nil
}
