package compat

import (
	"fmt"
	"strconv"
	"strings"
)

// derivedPrefix begins a derived compatibility version, and derivedHash is how many hex digits end it.
const (
	derivedPrefix = "L"
	derivedHash   = 16
)

// Derived is the compatibility version of a build that has none of its own: "L7-4c37681f163b1204", the logic version and the hash
// over all components. So string, number and hash can't disagree, and a peer that knows only the string keeps working.
func Derived(logic int32, components uint64) string {
	return fmt.Sprintf("%s%d-%0*x", derivedPrefix, logic, derivedHash, components)
}

// ParseDerived takes a derived compatibility version apart. Anything but the exact form of Derived is not one.
func ParseDerived(s string) (logic int32, components uint64, ok bool) {
	number, sum, found := strings.Cut(strings.TrimPrefix(s, derivedPrefix), "-")
	if !found || !strings.HasPrefix(s, derivedPrefix) || len(sum) != derivedHash || number == "" || number[0] == '+' || number[0] == '0' && number != "0" {
		return 0, 0, false
	}
	l, err := strconv.ParseInt(number, 10, 32)
	if err != nil || l < 0 {
		return 0, 0, false
	}
	for i := range sum {
		if sum[i] >= 'A' && sum[i] <= 'F' {
			return 0, 0, false
		}
	}
	components, err = strconv.ParseUint(sum, 16, 64)
	return int32(l), components, err == nil
}
