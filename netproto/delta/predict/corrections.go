package predict

// corrections is the correction cache of the prediction: targets whose observed address differs from that of the matches. It
// is a direct-mapped hash table, in which a new entry replaces the old one.
type corrections struct {
	list  []correction
	used  []uint64 // a bit for each used slot: most targets have none, and this fits into the processor's cache
	shift int      // from a hash to a slot
}

// correction is one entry: a target and its observed displacement.
type correction struct {
	from uint64
	move int32
}

// hashFactor is the multiplier of the hash: the upper bits of the product are the slot.
const hashFactor = 0x9e3779b97f4a7c15

// newCorrections makes a table with 2^bits slots. Address 0, in the first slot, has displacement 0 until another is
// observed: in many formats it means null.
func newCorrections(bits int) corrections {
	l := corrections{list: make([]correction, 1<<bits), used: make([]uint64, 1<<bits>>6+1), shift: 64 - bits}
	l.used[0] = 1
	return l
}

// find returns the new address of an old one, if it was observed.
func (l *corrections) find(old uint64) (uint64, bool) {
	at := old * hashFactor >> l.shift
	if l.used[at>>6]>>(at&63)&1 == 0 || l.list[at].from != old {
		return 0, false
	}
	return old + uint64(int64(l.list[at].move)), true
}

// record stores the observed new address of an old one. Displacements of 2 GiB or more are not stored.
func (l *corrections) record(old, real uint64) {
	if move := int64(real - old); move == int64(int32(move)) {
		at := old * hashFactor >> l.shift
		l.used[at>>6] |= 1 << (at & 63)
		l.list[at] = correction{from: old, move: int32(move)}
	}
}
