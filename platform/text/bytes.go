package text

import "fmt"

// Bytes writes a number of bytes for people, in units of 1000 and with at most three digits before the unit: "999 B", "1.5 kB",
// "460 kB", "24.0 MB". Below 1000, and below zero, it is the number itself. The player's window writes its language's form:
// assets.Texts.Size.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units, v := "kMGTP", float64(n)/1000
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 99.95 {
		return fmt.Sprintf("%.1f %cB", v, units[0])
	}
	return fmt.Sprintf("%.0f %cB", v, units[0])
}

// Count writes a number with what is counted, a noun whose plural adds an s: "1 floor", "2 floors".
func Count[N ~int | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
