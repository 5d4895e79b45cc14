package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Diff are the keys with different values, sorted, as in the document: "active_min", "maintenance.until", "messages.P-MAINT". The
// revision is not compared.
func Diff(old, changed Settings) []string {
	before, after := old.flat(), changed.flat()
	keys := []string{}
	for _, key := range sortedKeys(before) {
		if !bytes.Equal(before[key], after[key]) {
			keys = append(keys, key)
		}
	}
	for _, key := range sortedKeys(after) {
		if _, both := before[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// flat are the values by their keys. What is made of objects is taken apart, lists are not: where one rule was inserted, none of
// those behind it were changed.
func (s Settings) flat() map[string]json.RawMessage {
	values := make(map[string]json.RawMessage)
	flatten("", s.Encode(), values)
	delete(values, "revision")
	return values
}

// flatten cuts an object of a document of ours into values, which nest twice at most.
func flatten(prefix string, object []byte, into map[string]json.RawMessage) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		panic(fmt.Sprintf("compat: a document of our own: %v", err))
	}
	for key, value := range members {
		if value[0] == '{' {
			flatten(prefix+key+".", value, into)
			continue
		}
		into[prefix+key] = value
	}
}

// Lowers reports whether a change lowers an end of the active range. That needs a confirmation: accounts that have played with
// more than the new maximum can't return with any active version.
func Lowers(old, changed Settings) bool {
	return changed.ActiveMin < old.ActiveMin || changed.ActiveMax < old.ActiveMax
}

// RaisesLowerEnd reports whether a change raises the lower end of the active range. Clients of the versions below can't play any more.
func RaisesLowerEnd(old, changed Settings) bool { return changed.ActiveMin > old.ActiveMin }

// sortedKeys are the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
