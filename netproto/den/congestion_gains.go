package den

import "time"

// Phases of the rate.
const (
	startGain = 2.77 // the smallest gain that doubles the rate each round trip: 4 ln 2
	plateau   = 1.25 // growth of the rate below which the start phase may be over
	plateaus  = 3    // in a row
)

// gainCycle has the gains of the rate after the start, one for each round trip: above 1 to probe for more bandwidth,
// below 1 to drain the queue from that, then 1.
var gainCycle = [...]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// gains selects the factor of the measured rate.
//
//	start ─(the rate no longer grows, or heavy losses)→ drain ─(no queue)→ gainCycle
type gains struct {
	full      bool    // the start phase is over
	drained   bool    // and so is the drain
	fullRate  float64 // the rate when it grew last, in bytes a second
	fullCount int     // rounds since then
	phase     int     // index in gainCycle
	phaseAt   time.Duration
}

// gain is the current factor of the rate.
func (g *gains) gain() float64 {
	switch {
	case !g.full:
		return startGain
	case !g.drained:
		return 1 / startGain
	default:
		return gainCycle[g.phase]
	}
}

// judgeStart ends the start phase after some rounds in which the rate grew too little. rate is that of a completed round.
func (g *gains) judgeStart(rate float64) {
	if g.full {
		return
	}
	if rate >= plateau*g.fullRate {
		g.fullRate, g.fullCount = rate, 0
		return
	}
	g.fullCount++
	g.full = g.fullCount >= plateaus
}

// advance advances the phases after the start. empty reports whether the bytes in flight cause no queue.
func (g *gains) advance(empty bool, now, trip time.Duration) {
	if !g.full {
		return
	}
	if !g.drained {
		if g.drained = empty; g.drained {
			g.phase, g.phaseAt = 2, now
		}
		return
	}
	if now-g.phaseAt > trip || (gainCycle[g.phase] < 1 && empty) {
		g.phase, g.phaseAt = (g.phase+1)%len(gainCycle), now
	}
}
