package delta

// lessons is the correction cache of the prediction: targets whose observed address differs from that of the matches. It
// is a direct-mapped hash table, in which a new entry replaces the old one.
type lessons struct {
	list  []lesson
	known bitset // used slots: most targets have none, and this fits into the processor's cache
	shift int    // from a hash to a slot
}

// lesson is one entry: a target and its observed displacement.
type lesson struct {
	from uint64
	move int32
}

// lessonFactor is the multiplier of the hash: the upper bits of the product are the slot.
const lessonFactor = 0x9e3779b97f4a7c15

// newLessons makes a table with 2^bits slots. Address 0, in the first slot, has displacement 0 until another is
// observed: in many formats it means null.
func newLessons(bits int) lessons {
	l := lessons{list: make([]lesson, 1<<bits), known: newBitset(1 << bits), shift: 64 - bits}
	l.known.set(0)
	return l
}

// find returns the new address of an old one, if it was observed.
func (l *lessons) find(old uint64) (uint64, bool) {
	at := old * lessonFactor >> l.shift
	if !l.known.has(int(at)) || l.list[at].from != old {
		return 0, false
	}
	return old + uint64(int64(l.list[at].move)), true
}

// learn records the observed new address of an old one. Displacements of 2 GiB or more are not stored.
func (l *lessons) learn(old, real uint64) {
	if move := int64(real - old); move == int64(int32(move)) {
		at := old * lessonFactor >> l.shift
		l.known.set(int(at))
		l.list[at] = lesson{from: old, move: int32(move)}
	}
}
