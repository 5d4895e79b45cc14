package deflate

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	// rateSample is the size of the text that MeasureRates works on in bytes: some 4 ms.
	rateSample = 128 << 10
	// rateRounds is how often it is done. The fastest counts: another program may have the core meanwhile.
	rateRounds = 3
)

// MeasureRates measures how many plain bytes a second one core of this machine inflates, and how many it compresses at level 6. It takes some
// milliseconds by the clock now. The rates are above 0.
func MeasureRates(now func() time.Time) (inflated, deflated float64, err error) {
	var text []byte
	for r := rand.New(rand.NewPCG(1, 1)); len(text) < rateSample; {
		text = append(strconv.AppendUint(append(text, "this.value = items["...), r.Uint64N(5000), 10), "] + name; // "...)
	}
	rate := func(d time.Duration) float64 { return float64(len(text)) / max(d, time.Microsecond).Seconds() }
	for range rateRounds {
		var packed bytes.Buffer
		begin := now()
		if err = Encode(&packed, bytes.NewReader(text), Params{Level: 6, MemLevel: 8}); err != nil {
			return 0, 0, err
		}
		middle := now()
		if _, err = io.Copy(io.Discard, flate.NewReader(&packed)); err != nil {
			return 0, 0, err
		}
		inflated, deflated = max(inflated, rate(now().Sub(middle))), max(deflated, rate(middle.Sub(begin)))
	}
	return inflated, deflated, nil
}

// levelTimes are how long the levels from 1 on take, level 6 being 10: measured on text.
var levelTimes = [...]int64{4, 5, 6, 6, 8, 10, 12, 20, 26}

// Time is how many bytes at level 6 take as long as compressing plain bytes as the recipe says.
func (r Recipe) Time(plain int64) int64 {
	streams, time := int64(0), int64(0)
	for _, n := range r.runs {
		if n.params != (Params{}) {
			streams, time = streams+int64(n.streams), time+int64(n.streams)*levelTimes[n.params.Level-1]
		}
	}
	if streams == 0 {
		return 0
	}
	return int64(float64(plain) * float64(time) / float64(10*streams))
}
