package delta

// sortSuffixes fills order with the start positions of all suffixes of text in ascending order, by induced sorting
// (SA-IS). It takes linear time for every text, 4 bytes a symbol for the result, and at most a third of that beside it.
// Symbols are below symbols, text is shorter than 2 GiB, and order is as long as text.
func sortSuffixes[T byte | int32](text []T, order []int32, symbols int) {
	n := len(text)
	if n < 2 {
		clear(order)
		return
	}
	s := suffixSort[T]{text: text, order: order, count: make([]int32, symbols), bucket: make([]int32, symbols), start: newBitset(n)}
	for _, c := range text {
		s.count[c]++
	}
	found := s.findStarts()
	s.empty(0)
	s.ends()
	for i := n - 1; i >= 0; i-- {
		if s.start.has(i) {
			c := text[i]
			s.bucket[c]--
			order[s.bucket[c]] = int32(i)
		}
	}
	s.induce()
	if found > 1 {
		s.sortStarts(found)
	}
}

// suffixSort is one level of sortSuffixes.
type suffixSort[T byte | int32] struct {
	text   []T
	order  []int32
	count  []int32 // of each symbol
	bucket []int32 // next free place of each symbol's bucket
	start  bitset  // positions whose suffix is smaller than both its neighbours' ("leftmost S")
}

// findStarts marks the leftmost S positions and returns their number.
func (s *suffixSort[T]) findStarts() int {
	found, rising := 0, false
	for i := len(s.text) - 2; i >= 0; i-- {
		switch a, b := s.text[i], s.text[i+1]; {
		case a < b:
			rising = true
		case a > b && rising:
			s.start.set(i + 1)
			found++
			rising = false
		}
	}
	return found
}

// empty marks the places from i on as free.
func (s *suffixSort[T]) empty(i int) {
	for j := range s.order[i:] {
		s.order[i+j] = -1
	}
}

func (s *suffixSort[T]) starts() {
	sum := int32(0)
	for c, n := range s.count {
		s.bucket[c] = sum
		sum += n
	}
}

func (s *suffixSort[T]) ends() {
	sum := int32(0)
	for c, n := range s.count {
		sum += n
		s.bucket[c] = sum
	}
}

// induce orders all suffixes from the leftmost S ones that stand at the ends of their buckets.
func (s *suffixSort[T]) induce() {
	text, order, bucket := s.text, s.order, s.bucket
	s.starts()
	last := text[len(text)-1]
	order[bucket[last]] = int32(len(text) - 1)
	bucket[last]++
	for i := 0; i < len(order); i++ {
		if v := order[i] - 1; v >= 0 {
			if c := text[v]; c >= text[v+1] {
				order[bucket[c]] = v
				bucket[c]++
			}
		}
	}
	s.ends()
	for i := len(order) - 1; i >= 0; i-- {
		if v := order[i] - 1; v >= 0 {
			c, d := text[v], text[v+1]
			if c < d || c == d && int32(i) >= bucket[c] {
				bucket[c]--
				order[bucket[c]] = v
			}
		}
	}
}

// sortStarts names the substrings between leftmost S positions. If names repeat, it sorts the shorter text of names
// first. Then it induces again from the right order.
func (s *suffixSort[T]) sortStarts(found int) {
	order, n := s.order, len(s.text)
	m := 0
	for _, v := range order {
		if v > 0 && s.start.has(int(v)) {
			order[m] = v
			m++
		}
	}
	s.empty(m)
	names := s.name(m)
	short := order[n-m:]
	for i, j := n-1, m-1; i >= m; i-- {
		if order[i] >= 0 {
			short[j] = order[i]
			j--
		}
	}
	if names < m {
		sortSuffixes(short, order[:m], names)
	} else {
		for i, name := range short {
			order[name] = int32(i)
		}
	}
	for i, j := n-1, m-1; i > 0; i-- {
		if s.start.has(i) {
			short[j] = int32(i)
			j--
		}
	}
	for i := range m {
		order[i] = short[order[i]]
	}
	s.empty(m)
	s.ends()
	for i := m - 1; i >= 0; i-- {
		v := order[i]
		order[i] = -1
		c := s.text[v]
		s.bucket[c]--
		order[s.bucket[c]] = v
	}
	s.induce()
}

// name writes a name for each leftmost S position v, rising in their order, to order[m+v/2], and returns the number of
// names. Two positions are never neighbours, so the places are distinct.
func (s *suffixSort[T]) name(m int) int {
	order := s.order
	next := len(s.text)
	for i := len(s.text) - 1; i > 0; i-- {
		if s.start.has(i) {
			order[m+i/2] = int32(next - i)
			next = i
		}
	}
	names, prev, prevLen := int32(-1), int32(-1), int32(0)
	for _, v := range order[:m] {
		length := order[m+int(v)/2]
		if prev < 0 || length != prevLen || !s.same(int(prev), int(v), int(length)) {
			names++
		}
		prev, prevLen = v, length
		order[m+int(v)/2] = names
	}
	return int(names) + 1
}

// same compares two substrings of the same length, including the symbol after each. One that reaches the end of the text equals no other.
func (s *suffixSort[T]) same(a, b, length int) bool {
	if max(a, b)+length >= len(s.text) {
		return false
	}
	for i := 0; i <= length; i++ {
		if s.text[a+i] != s.text[b+i] {
			return false
		}
	}
	return true
}

// bitset is a fixed set of small numbers, one bit each.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
