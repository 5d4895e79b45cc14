package delta

// lessons is the targets that went elsewhere than the matches say: a table by hash in which the last one stays.
type lessons struct {
	list  []lesson
	known bitset // places that have a lesson: most targets have none, and this stays in the processor's cache
	shift int    // that makes a place of a hash
}

// lesson is a target and how far it moved.
type lesson struct {
	from uint64
	move int32
}

// lessonFactor spreads targets over the lessons: the upper bits of the product are a target's place.
const lessonFactor = 0x9e3779b97f4a7c15

// newLessons makes a table with 2^bits places. Address 0, whose place is the first, is taken to stay until it is learned
// otherwise: many formats have it mean "none".
func newLessons(bits int) lessons {
	l := lessons{list: make([]lesson, 1<<bits), known: newBitset(1 << bits), shift: 64 - bits}
	l.known.set(0)
	return l
}

// find is where an old address went, if that was learned.
func (l *lessons) find(old uint64) (uint64, bool) {
	at := old * lessonFactor >> l.shift
	if !l.known.has(int(at)) || l.list[at].from != old {
		return 0, false
	}
	return old + uint64(int64(l.list[at].move)), true
}

// learn notes where an old address really went. What moved by 2 GiB or more is not worth a place.
func (l *lessons) learn(old, real uint64) {
	if move := int64(real - old); move == int64(int32(move)) {
		at := old * lessonFactor >> l.shift
		l.known.set(int(at))
		l.list[at] = lesson{from: old, move: int32(move)}
	}
}
