package operator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Floors are kept in FloorSets sets, by the hash of the account: a few large values take less memory, disk and time than one for
// each player, and a cluster replicates a set as one message. The hash is no secret, so a set has a largest size: a client that
// invents accounts of one set fills that set only.

const (
	// FloorSets is the number of sets: with MaxFloors accounts each has about 150.
	FloorSets = 1 << 16
	// MaxFloorSet is the largest size of a set in bytes: 40 times that of an average one with MaxFloors accounts.
	MaxFloorSet = 256 << 10
)

// floorSet is a set in its one form: for each account, in ascending order, a byte with the length of its name, the name, and the
// floor as a big-endian i32 above 0.
type floorSet []byte

// floorSetOf is the number of the set that an account is in: the first two bytes of its SHA-256.
func floorSetOf(account string) uint16 {
	sum := sha256.Sum256([]byte(account))
	return binary.BigEndian.Uint16(sum[:])
}

func floorSetKey(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

// errFloorSet says that a set is not in its form.
var errFloorSet = errors.New("a set of floors is damaged")

// each calls do for every account until it returns false. The name is valid during the call.
func (s floorSet) each(do func(account []byte, floor int32) bool) error {
	for rest := []byte(s); len(rest) > 0; {
		end := 1 + int(rest[0])
		if len(rest) < end+4 {
			return errFloorSet
		}
		if !do(rest[1:end], int32(binary.BigEndian.Uint32(rest[end:]))) {
			return nil
		}
		rest = rest[end+4:]
	}
	return nil
}

// floor is the floor of an account, 0 for none.
func (s floorSet) floor(account string) (found int32) {
	_ = s.each(func(name []byte, floor int32) bool { // a damaged set is found by its seal
		if string(name) == account {
			found = floor
		}
		return string(name) < account
	})
	return found
}

// with is the set with another floor for an account; 0 takes it out.
func (s floorSet) with(a AccountFloor) floorSet {
	next, done := make(floorSet, 0, len(s)+len(a.Account)+5), false
	put := func() {
		if !done && a.Floor > 0 {
			next = next.append(a.Account, a.Floor)
		}
		done = true
	}
	_ = s.each(func(name []byte, floor int32) bool {
		if string(name) >= a.Account {
			put()
		}
		if string(name) != a.Account {
			next = next.append(string(name), floor)
		}
		return true
	})
	put()
	return next
}

// append adds an account that comes after all others.
func (s floorSet) append(account string, floor int32) floorSet {
	s = append(append(s, byte(len(account))), account...)
	return binary.BigEndian.AppendUint32(s, uint32(floor))
}

// accounts is the number of accounts in it.
func (s floorSet) accounts() (n int) {
	_ = s.each(func([]byte, int32) bool { n++; return true })
	return n
}

// cut is the first account, its floor, and the rest. The set is not empty.
func (s floorSet) cut() (name []byte, floor int32, rest floorSet) {
	end := 1 + int(s[0])
	return s[1:end], int32(binary.BigEndian.Uint32(s[end:])), s[end+4:]
}

// merge is the set with the higher floor of each account of both.
func (s floorSet) merge(other floorSet) floorSet {
	merged := make(floorSet, 0, max(len(s), len(other)))
	for len(s) > 0 && len(other) > 0 {
		name, floor, rest := s.cut()
		name2, floor2, rest2 := other.cut()
		switch order := bytes.Compare(name, name2); {
		case order < 0:
			merged, s = merged.append(string(name), floor), rest
		case order > 0:
			merged, other = merged.append(string(name2), floor2), rest2
		default:
			merged, s, other = merged.append(string(name), max(floor, floor2)), rest, rest2
		}
	}
	return append(append(merged, s...), other...)
}

// parseFloorSet checks a set that comes from elsewhere: its size, its order, and that its accounts belong into set n.
func parseFloorSet(n uint16, data []byte) (floorSet, error) {
	if len(data) > MaxFloorSet {
		return nil, fmt.Errorf("a set of floors has %d bytes, at most %d are taken", len(data), MaxFloorSet)
	}
	var before []byte
	var fault error
	err := floorSet(data).each(func(name []byte, floor int32) bool {
		if len(name) == 0 || len(name) > MaxAccount || floor <= 0 || before != nil && bytes.Compare(before, name) >= 0 || floorSetOf(string(name)) != n {
			fault = errFloorSet
		}
		before = name
		return fault == nil
	})
	return slices.Clip(floorSet(data)), errors.Join(err, fault)
}
