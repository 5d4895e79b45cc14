// Package span has half-open intervals [Start, End) of bytes or numbers, and sets of them: received ranges of a file, numbers that a
// receiver has seen.
//
// A Set is a sorted slice. Its spans are not empty, do not overlap and do not touch, so that two sets with the same members are equal.
// The zero value is the empty set. Only the methods change a set; callers iterate over it and index it like any slice. A copy of the slice
// header shares its memory: use slices.Clone before one of the two changes.
//
// With n spans in the set, Add and Remove search in O(log n) and move at most n spans of 16 bytes; Add moves none at the end of the set,
// where bytes arrive in order, and Remove none at its start. Contains costs O(log n), all else O(n). Each Add and each Remove
// adds at most one span to the slice. AddLimited bounds their number where a peer chooses them.
//
// All numbers are valid, up to the largest one of their type: a set never contains it, since it can only be an End.
package span

import (
	"math"
	"slices"
)

// Number is an offset in a file or a number on the wire.
type Number interface{ int64 | uint64 }

// Span is everything from Start up to but not including End. It is empty where End <= Start.
type Span[N Number] struct{ Start, End N }

// Of is the span from start up to but not including end.
func Of[N Number](start, end N) Span[N] { return Span[N]{start, end} }

// Len is how many members a span has. It is only meaningful if Start <= End.
func (s Span[N]) Len() N { return s.End - s.Start }

// Set is a set of numbers, as spans in order.
type Set[N Number] []Span[N]

// Add adds a span to the set and joins it with the spans that it overlaps or touches.
func (s *Set[N]) Add(one Span[N]) { s.AddLimited(one, math.MaxInt) }

// AddLimited is Add for untrusted input: it reports false and changes nothing if the set would have more than limit spans.
func (s *Set[N]) AddLimited(one Span[N], limit int) bool {
	if one.Start >= one.End {
		return true
	}
	list := *s
	lo, hi := list.touching(one)
	if lo < hi {
		one.Start, one.End = min(one.Start, list[lo].Start), max(one.End, list[hi-1].End)
	} else if len(list) >= limit {
		return false
	}
	*s = slices.Replace(list, lo, hi, one)
	return true
}

// Remove removes a span from the set.
func (s *Set[N]) Remove(one Span[N]) {
	list := *s
	lo, hi := list.touching(one)
	if one.Start >= one.End || lo == hi {
		return
	}
	start := list[lo].Start
	if one.End < list[hi-1].End { // the end of the last one stays
		hi--
		list[hi].Start = one.End
	}
	switch {
	case start < one.Start: // the start of the first one stays
		*s = slices.Replace(list, lo, hi, Span[N]{start, one.Start})
	case lo == 0:
		*s = list[hi:]
	default:
		*s = slices.Delete(list, lo, hi)
	}
}

// touching finds the spans that overlap or touch one: indexes lo to hi-1. It is not valid for an empty span.
func (s Set[N]) touching(one Span[N]) (lo, hi int) {
	lo, hi = s.search(one.Start), s.search(one.End)
	if hi < len(s) && s[hi].Start <= one.End {
		hi++
	}
	return lo, hi
}

// search finds the first span that does not end before n.
func (s Set[N]) search(n N) int {
	lo, hi := 0, len(s)
	if hi > 0 && s[hi-1].Start <= n { // the usual case: at the end of the set
		lo = hi - 1
	}
	for lo < hi {
		if middle := (lo + hi) / 2; s[middle].End < n {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return lo
}

// Contains reports whether all of one is in the set.
func (s Set[N]) Contains(one Span[N]) bool {
	i := s.search(one.End)
	return one.Start >= one.End || i < len(s) && s[i].Start <= one.Start
}

// Gaps is the part of a span that is not in the set.
func (s Set[N]) Gaps(within Span[N]) (gaps Set[N]) {
	at := within.Start
	for i := s.search(at); i < len(s) && s[i].Start < within.End; i++ {
		if at < s[i].Start {
			gaps = append(gaps, Span[N]{at, s[i].Start})
		}
		at = s[i].End
	}
	if at < within.End {
		gaps = append(gaps, Span[N]{at, within.End})
	}
	return gaps
}

// Prefix is the number of members from 0 to the first gap.
func (s Set[N]) Prefix() N {
	if len(s) == 0 || s[0].Start > 0 {
		return 0
	}
	return s[0].End
}

// Total is how many numbers are in a set, or in a list of spans that do not overlap.
func Total[N Number](spans []Span[N]) (n N) {
	for _, one := range spans {
		n += one.Len()
	}
	return n
}
