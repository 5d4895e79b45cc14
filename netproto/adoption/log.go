package adoption

import (
	"bufio"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"collet/netproto/beacon"
)

const (
	// maxLine is the longest line of an access log that is read; longer ones are skipped. A beacon's has some 300 bytes.
	maxLine = 16 << 10
	// logTime is the time of a line.
	logTime = "02/Jan/2006:15:04:05 -0700"
)

// Log is what an access log has.
type Log struct {
	Counter *Counter
	Lines   int       // all lines
	Beacons int       // lines with a beacon
	Newest  time.Time // of the newest beacon; zero for none
}

// ReadLog counts the beacons in an access log in the common or combined format, as Apache, nginx and most CDNs write it. Other lines are passed
// over. A first field that is no address has no share: a CDN that hides addresses writes a dash. Lines may be in any order.
//
//	192.0.2.7 - - [27/Nov/2026:22:44:06 +0000] "GET /beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,30 HTTP/1.1" 204 0 "-" "…"
func ReadLog(in io.Reader, name Name) (Log, error) {
	l := Log{Counter: NewCounter(name)}
	lines := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			l.Lines++
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = lines.ReadSlice('\n')
			line = nil
		}
		if at, from, b, is := parseLine(string(line)); is {
			l.Beacons++
			l.Counter.Add(at, from, b)
			if at.After(l.Newest) {
				l.Newest = at
			}
		}
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
	}
}

// parseLine reads a line of a log, if it has a beacon.
func parseLine(line string) (at time.Time, from netip.Addr, b beacon.Beacon, is bool) {
	host, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	_, rest, _ = strings.Cut(rest, "[")
	when, rest, _ := strings.Cut(rest, "]")
	_, rest, _ = strings.Cut(rest, `"`)
	request, _, _ := strings.Cut(rest, `"`)
	method, target, _ := strings.Cut(request, " ")
	target, _, _ = strings.Cut(target, " ")
	_, query, has := strings.Cut(target, "?")
	if !has || method != "GET" {
		return at, from, b, false
	}
	if strings.Contains(query, "%") { // some log the comma as %2C
		query, _ = url.PathUnescape(query) // what can't be unescaped is no beacon
	}
	b, err := beacon.Parse(query)
	if err != nil {
		return at, from, b, false
	}
	if at, err = time.Parse(logTime, when); err != nil || at.Year() < 2000 || at.Year() > 9999 {
		return at, from, b, false
	}
	from, _ = netip.ParseAddr(host) // the zero address is unknown
	return at, from, b, true
}

// Buckets are the buckets of a window.
func (l Log) Buckets(w Window) []Bucket {
	if w == Month {
		return l.Counter.Days()
	}
	return l.Counter.Hours()
}
