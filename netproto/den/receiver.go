package den

import "errors"

var errTooLong = errors.New("is longer than the limit")

// arrival is a receiver's classification of a number.
type arrival uint8

const (
	arrivedNow   arrival = 1 // the next one: acknowledge and deliver
	arrivedEarly arrival = 2 // inside the window: acknowledge and keep
	arrivedAgain arrival = 3 // a duplicate: acknowledge and drop
	arrivedWrong arrival = 4 // neither: drop
)

// receiver is the receiving half of protocol 0 (docs/PROTOCOL.md, "Protocol 0").
type receiver struct {
	next uint16             // the next number to be delivered
	kept [windowSize][]byte // datagrams that came early, by number modulo windowSize; copies
	have [windowSize]bool
	at   int // index of next in kept
}

// classify says how number n relates to the expected one.
func (r *receiver) classify(n uint16) arrival {
	switch d := distance(r.next, n); {
	case d == 0:
		return arrivedNow
	case d < windowSize && r.have[(r.at+d)%windowSize]:
		return arrivedAgain
	case d < windowSize:
		return arrivedEarly
	case d >= numbers-oldNumbers:
		return arrivedAgain
	default:
		return arrivedWrong
	}
}

// storeEarly stores a datagram that came early, whose number is n.
func (r *receiver) storeEarly(n uint16, datagram []byte) {
	i := (r.at + distance(r.next, n)) % windowSize
	r.kept[i], r.have[i] = append([]byte(nil), datagram...), true
}

// nextStored advances to the next number and returns the datagram kept for it, if any.
func (r *receiver) nextStored() ([]byte, bool) {
	r.next = ahead(r.next, 1)
	r.at = (r.at + 1) % windowSize
	datagram, have := r.kept[r.at], r.have[r.at]
	r.kept[r.at], r.have[r.at] = nil, false
	return datagram, have
}

// assembly reassembles long messages.
type assembly struct {
	buf     []byte
	started bool
}

// add adds a part. It returns the message after the last part. Parts without a first one are dropped.
func (a *assembly) add(flags uint8, part []byte, limit int) ([]byte, error) {
	if flags&partFirst != 0 {
		a.buf, a.started = nil, true
	}
	if !a.started {
		return nil, nil
	}
	if len(a.buf)+len(part) > limit {
		return nil, errTooLong
	}
	a.buf = append(a.buf, part...)
	if flags&partLast == 0 {
		return nil, nil
	}
	whole := a.buf
	if whole == nil {
		whole = []byte{}
	}
	a.buf, a.started = nil, false
	return whole, nil
}
