package den

import "time"

// assignNumbers assigns the next number to the next part of the queue, or to a harmless message if the number is burnt or the path
// is to be probed. It returns false if the queue is empty.
func (s *sender) assignNumbers(now time.Time) bool {
	if len(s.queue) == 0 {
		return false
	}
	if s.cutAt > 0 {
		s.part()
		return true
	}
	m := &s.queue[0]
	switch size := s.sizes.probe(len(m.payload), now); {
	case s.blocked(m):
		s.detour++
		s.fill(0)
	case size > 0 && !s.burnt.has(s.number()):
		s.fill(size)
	case m.link != nil:
		s.add(&entry{kind: cmdLinkState, link: m.link})
		s.pop()
	case len(m.payload) <= s.sizes.size():
		s.add(&entry{kind: cmdReliable, body: m.payload})
		s.pop()
	default:
		s.part()
	}
	return true
}

// blocked reports whether m would use a burnt number. After maxDetour fillers it is sent anyway, because no gap may be
// long enough; the application's digests then detect a corruption.
func (s *sender) blocked(m *outgoing) bool {
	count := max(1, (len(m.payload)+s.sizes.size()-1)/s.sizes.size())
	return s.detour < maxDetour && s.burnt.within(s.number(), count)
}

// part assigns the next number to the next part of the current message.
func (s *sender) part() {
	m := &s.queue[0]
	e := &entry{kind: cmdReliableLong}
	if s.cutAt == 0 {
		e.flags |= partFirst
	}
	end := min(s.cutAt+s.sizes.size(), len(m.payload))
	e.body = m.payload[s.cutAt:end:end]
	s.cutAt = end
	if end == len(m.payload) {
		e.flags |= partLast
		s.pop()
	}
	s.add(e)
}

// fill assigns the next number to a harmless message of at least size bytes.
func (s *sender) fill(size int) {
	body := s.harmless
	if size > len(body) {
		body = make([]byte, size)
		copy(body, s.harmless)
	}
	e := &entry{kind: cmdReliable, body: body, filler: true, probe: size}
	if len(s.harmless) == 0 {
		e.kind = cmdReliableLong // a part that belongs to no message
	}
	s.fillers++
	s.add(e)
}

// number is the next number.
func (s *sender) number() uint16 { return ahead(s.base, len(s.window)) }

func (s *sender) add(e *entry) {
	e.number = s.number()
	s.answered.remove(e.number)
	s.window = append(s.window, e)
}

// pop drops the front message of the queue after all of it has numbers.
func (s *sender) pop() {
	s.queue[0] = outgoing{}
	s.queue = s.queue[1:]
	s.cutAt, s.detour = 0, 0
}
