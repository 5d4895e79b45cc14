package den

// burnt is the set of numbers with possibly several copies in flight: they were sent or acknowledged more than once. A
// released receiver acknowledges every copy that the network made. It stores a copy that arrives after its number was
// delivered, and delivers it one lap later instead of the number's new content; it then stores that in turn.
// So a burnt number stays burnt, and carries only harmless messages from then on.
type burnt struct {
	numberSet
	count int
}

func (b *burnt) add(n uint16) {
	if !b.has(n) {
		b.numberSet.add(n)
		b.count++
	}
}

// within reports whether one of the count numbers from n on is burnt.
func (b *burnt) within(n uint16, count int) bool {
	if b.count == 0 {
		return false
	}
	for i := range min(count, numbers) {
		if b.has(ahead(n, i)) {
			return true
		}
	}
	return false
}

// numberSet is a set of numbers.
type numberSet [(numbers + 63) / 64]uint64

func (s *numberSet) has(n uint16) bool { return s[n/64]&(1<<(n%64)) != 0 }
func (s *numberSet) add(n uint16)      { s[n/64] |= 1 << (n % 64) }
func (s *numberSet) remove(n uint16)   { s[n/64] &^= 1 << (n % 64) }
