package den

import "sort"

// span is a row of bytes or numbers, from start up to but not including end.
type span struct{ start, end uint64 }

// spans are sorted and do not touch each other.
type spans []span

// add joins one to the spans, and reports how much of it was new.
func (s *spans) add(one span) uint64 {
	old := *s
	if n := len(old); n > 0 && one.start >= old[n-1].start { // the usual case: at the end
		last := &old[n-1]
		switch {
		case one.start > last.end:
			*s = append(old, one)
			return one.end - one.start
		case one.end <= last.end:
			return 0
		}
		fresh := one.end - last.end
		last.end = one.end
		return fresh
	}
	i := sort.Search(len(old), func(i int) bool { return old[i].end >= one.start })
	j, known := i, uint64(0)
	joined := one
	for ; j < len(old) && old[j].start <= one.end; j++ {
		known += overlap(old[j], one)
		joined.start, joined.end = min(joined.start, old[j].start), max(joined.end, old[j].end)
	}
	if i == j {
		*s = append(old[:i], append(spans{joined}, old[i:]...)...)
	} else {
		old[i] = joined
		*s = append(old[:i+1], old[j:]...)
	}
	return one.end - one.start - known
}

func overlap(a, b span) uint64 {
	start, end := max(a.start, b.start), min(a.end, b.end)
	if end <= start {
		return 0
	}
	return end - start
}

// covers reports whether all of one is in the spans.
func (s spans) covers(one span) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].end >= one.end })
	return i < len(s) && s[i].start <= one.start
}

// has reports whether n is in the spans.
func (s spans) has(n uint64) bool { return s.covers(span{n, n + 1}) }

// trim drops what lies before n.
func (s *spans) trim(n uint64) {
	old := *s
	i := 0
	for i < len(old) && old[i].end <= n {
		i++
	}
	old = old[i:]
	if len(old) > 0 && old[0].start < n {
		old[0].start = n
	}
	*s = old
}
