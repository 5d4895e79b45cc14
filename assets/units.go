package assets

import (
	"strconv"
	"strings"
	"time"
)

// kilo is the step between units of size: 1 KB is 1000 bytes, as networks and disk makers count.
const kilo = 1000

// Size writes bytes in the largest unit that leaves a number of at least one, with one decimal from KB on: "512 B",
// "3.1 MB". A negative size counts as none.
func (t Texts) Size(bytes int64) string {
	if bytes < kilo {
		return t.Get("size.b", "n", max(bytes, 0))
	}
	units := []string{"size.kb", "size.mb", "size.gb", "size.tb"}
	value, unit := float64(bytes)/kilo, 0
	for value >= kilo-0.05 && unit < len(units)-1 { // 999.95 would be written as 1000.0
		value, unit = value/kilo, unit+1
	}
	return t.Get(units[unit], "n", t.decimal(value))
}

// decimal writes one decimal with the language's mark.
func (t Texts) decimal(value float64) string {
	return strings.Replace(strconv.FormatFloat(value, 'f', 1, 64), ".", t.Get("number.decimal"), 1)
}

// Amount writes how much of a whole is there: "3.1 MB of 8.0 MB".
func (t Texts) Amount(done, total int64) string {
	return t.Get("size.of", "done", t.Size(done), "total", t.Size(total))
}

// Rate writes bytes a second.
func (t Texts) Rate(bytes int64) string { return t.Get("rate", "size", t.Size(bytes)) }

// Span writes a length of time in one or two units, seconds rounded up, minutes to the nearest: "5 s", "12 min",
// "1 h 10 min". A negative span counts as none.
func (t Texts) Span(d time.Duration) string {
	seconds := int64((max(d, 0) + time.Second - 1) / time.Second)
	if seconds < 60 {
		return t.Get("time.s", "n", seconds)
	}
	minutes := (seconds + 30) / 60
	switch {
	case minutes < 60:
		return t.Get("time.min", "n", minutes)
	case minutes%60 == 0:
		return t.Get("time.h", "n", minutes/60)
	default:
		return t.Get("time.h", "n", minutes/60) + " " + t.Get("time.min", "n", minutes%60)
	}
}

// Age writes how far two builds are apart, in whole days from one day on: "19 d". Below that it is as Span.
func (t Texts) Age(d time.Duration) string {
	if days := int64(d / (24 * time.Hour)); days > 0 {
		return t.Get("time.d", "n", days)
	}
	return t.Span(d)
}

// Left says how long something may still take, no more exactly than such a guess deserves: in steps of 5 s below a
// minute, of 5 min above an hour.
func (t Texts) Left(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return t.Get("left.soon")
	case d < 55*time.Second:
		return t.Get("left.about", "time", t.Span(d.Round(5*time.Second)))
	case d < time.Hour:
		return t.Get("left.about", "time", t.Span(max(d.Round(time.Minute), time.Minute)))
	case d < 24*time.Hour:
		return t.Get("left.about", "time", t.Span(d.Round(5*time.Minute)))
	default:
		return t.Get("left.long")
	}
}
