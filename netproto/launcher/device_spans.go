package launcher

import (
	"iter"
	"slices"
)

// span is a range of bytes, without to.
type span struct{ from, to uint64 }

// spans are ranges that neither touch nor overlap, in order.
type spans []span

// add puts a range in and joins what touches it. It reports false, and changes nothing, when there would be more than limit.
func (s *spans) add(from, to uint64, limit int) bool {
	if from >= to {
		return true
	}
	first, _ := slices.BinarySearchFunc(*s, from, func(have span, from uint64) int {
		if have.to < from {
			return -1
		}
		return 1
	})
	last := first
	for last < len(*s) && (*s)[last].from <= to {
		from, to = min(from, (*s)[last].from), max(to, (*s)[last].to)
		last++
	}
	if first == last && len(*s) >= limit {
		return false
	}
	*s = slices.Replace(*s, first, last, span{from, to})
	return true
}

// gaps are the ranges of the first size bytes that are not in s.
func (s spans) gaps(size uint64) iter.Seq[span] {
	return func(yield func(span) bool) {
		at := uint64(0)
		for _, have := range s {
			if have.from >= size {
				break
			}
			if at < have.from && !yield(span{at, have.from}) {
				return
			}
			at = have.to
		}
		if at < size {
			yield(span{at, size})
		}
	}
}
