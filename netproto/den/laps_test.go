package den

import (
	"testing"

	"collet/platform/testlevel"
)

var keepAlive = []byte{20}

// laps is how many messages pass n laps of the numbers in full runs, and slightly more than one lap otherwise: then
// every number is reused soon after the wrap.
func laps(n int) int {
	if testlevel.Full() {
		return n * numbers
	}
	return numbers + numbers/20
}

// TestLapsOverCleanPath goes round the numbers three times.
func TestLapsOverCleanPath(t *testing.T) {
	testlevel.Slow(t)
	l := newLap(t, keepAlive, 64)
	l.run(laps(3), 30)
	if l.out.resent != 0 || l.out.fillers != 0 {
		t.Errorf("%d resent, %d fillers on a clean path", l.out.resent, l.out.fillers)
	}
}

// TestLostAcknowledgementsPlantFewCopies loses acknowledgements only. A delivered message is retransmitted, and a stale
// copy appears one lap later, only if two consecutive equal acknowledgements are lost.
func TestLostAcknowledgementsPlantFewCopies(t *testing.T) {
	testlevel.Slow(t)
	for _, harmless := range [][]byte{keepAlive, nil} {
		l := newLap(t, harmless, 64)
		l.lossAck = 0.02
		stale := l.run(laps(3), 30)
		if l.out.implicit < 20*l.out.resent || l.out.resent == 0 {
			t.Errorf("%d acknowledged implicitly, %d sent again, %d stale copies", l.out.implicit, l.out.resent, stale)
		}
		t.Logf("%d resent, %d fillers, %d implicit", l.out.resent, l.out.fillers, l.out.implicit)
	}
}

// TestLapsOverAPathThatDoubles: each copy is acknowledged, and its number is burnt before it is reused. The stale
// message appears once more, unavoidably, in place of a harmless one and not of a new one.
func TestLapsOverAPathThatDoubles(t *testing.T) {
	testlevel.Slow(t)
	for _, harmless := range [][]byte{keepAlive, nil} {
		l := newLap(t, harmless, 64)
		l.copies = 0.01
		l.run(numbers+laps(2), 30)
		if l.out.resent != 0 || l.out.burnt.count == 0 || l.out.fillers < uint64(l.out.burnt.count)/2 {
			t.Errorf("%d resent, %d burnt, %d fillers", l.out.resent, l.out.burnt.count, l.out.fillers)
		}
	}
}

// TestLapsOverLossyPath loses both ways: retransmitted numbers carry only harmless messages on later laps.
func TestLapsOverLossyPath(t *testing.T) {
	testlevel.Slow(t)
	for name, most := range map[string]int{"short": 30, "long": 500} {
		t.Run(name, func(t *testing.T) {
			l := newLap(t, keepAlive, 64)
			l.lossData, l.lossAck = 0.01, 0.01
			l.run(min(laps(2), laps(2)*64/most), most)
			t.Logf("%d resent, %d fillers, %d implicit, %d burnt", l.out.resent, l.out.fillers, l.out.implicit, l.out.burnt.count)
		})
	}
}

// TestLostAcknowledgementAtTheWrap loses the acknowledgement of each number near the wrap in turn, which ends the
// connection of a released sender.
func TestLostAcknowledgementAtTheWrap(t *testing.T) {
	for number := numbers - 12; number <= numbers+3; number++ {
		lost := uint16(number % numbers)
		l := newLap(t, keepAlive, 64)
		l.startAt(numbers - 500)
		once := true
		l.lose = func(n uint16, ack bool) bool {
			if ack && n == lost && once {
				once = false
				return true
			}
			return false
		}
		l.run(1000, 30)
		if once {
			t.Errorf("the acknowledgement of %d was not lost", lost)
		}
	}
}

// TestLastAcknowledgementAtTheWrap ends the messages just where an acknowledgement is lost.
func TestLastAcknowledgementAtTheWrap(t *testing.T) {
	for number := numbers - 12; number < numbers; number++ {
		l := newLap(t, keepAlive, 64)
		l.startAt(numbers - 500)
		l.lose = func(n uint16, ack bool) bool { return ack && n == uint16(number) }
		l.run(number+1-(numbers-500), 30)
		l.run(0, 30)
	}
}
