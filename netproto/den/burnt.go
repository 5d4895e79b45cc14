package den

// burnt are the numbers of which more than one copy was under way: they were sent more than once, or acknowledged more than once,
// which a released receiver does for every copy that the path made. A released receiver keeps a copy that comes after its number was
// delivered, and hands it out one lap later instead of what has the number then; and it keeps that again in its place
// (reference 2.4). So a burnt number stays burnt, and carries something harmless from then on.
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
