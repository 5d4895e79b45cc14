package delta

import (
	"encoding/binary"
	"io"
)

// A difference is stored as alternating runs of zeros (matching bytes) and of mismatched bytes. Their lengths are in two streams
// of numbers, the mismatches (new minus expected) in a third. A single zero inside a run of mismatches belongs to the run.

// diffWriter encodes a difference.
type diffWriter struct {
	zeros, wrongs, bytes []byte
	zero                 int // matching bytes since the last mismatch
	run                  int // length of the current run of mismatches
}

// diffGap is how many matching bytes do not end a run of mismatches: a new run costs about two bytes.
const diffGap = 1

// encode encodes how got differs from want, which has the same length.
func (d *diffWriter) encode(want, got []byte) {
	for i := 0; i < len(got); {
		if n := common(want[i:], got[i:]); n > 0 {
			d.zero += n
			i += n
			continue
		}
		if d.zero > 0 && d.run > 0 && d.zero <= diffGap {
			for ; d.zero > 0; d.zero-- {
				d.bytes = append(d.bytes, 0)
				d.run++
			}
		}
		if d.zero > 0 || d.run == 0 {
			d.endRun()
			d.zeros = binary.AppendUvarint(d.zeros, uint64(d.zero))
			d.zero = 0
		}
		d.bytes = append(d.bytes, got[i]-want[i])
		d.run++
		i++
	}
}

func (d *diffWriter) endRun() {
	if d.run > 0 {
		d.wrongs = binary.AppendUvarint(d.wrongs, uint64(d.run-1))
		d.run = 0
	}
}

// diffReader applies a difference to expected bytes.
type diffReader struct {
	zeros, wrongs *numbers
	bytes         io.Reader
	buf, have     []byte
	zero, run     uint64
	ended         bool
}

func newDiffReader(zeros, wrongs, bytes io.Reader) *diffReader {
	return &diffReader{zeros: newNumbers(zeros), wrongs: newNumbers(wrongs), bytes: bytes, buf: make([]byte, 16<<10)}
}

// Correct turns expected bytes into the new ones, in place.
func (d *diffReader) Correct(b []byte) error {
	if n := uint64(len(b)); n <= d.zero { // the usual case
		d.zero -= n
		return nil
	}
	for len(b) > 0 {
		if d.zero == 0 && d.run == 0 {
			if err := d.nextRun(); err != nil {
				return err
			}
		}
		n := min(uint64(len(b)), d.zero)
		b, d.zero = b[n:], d.zero-n
		for len(b) > 0 && d.zero == 0 && d.run > 0 {
			if len(d.have) == 0 {
				if err := d.fill(); err != nil {
					return err
				}
			}
			n := int(min(uint64(len(b)), uint64(len(d.have)), d.run))
			for i, v := range d.have[:n] {
				b[i] += v
			}
			b, d.have, d.run = b[n:], d.have[n:], d.run-uint64(n)
		}
	}
	return nil
}

// nextRun reads the next pair of lengths. After the last pair all bytes match.
func (d *diffReader) nextRun() (err error) {
	if d.ended {
		d.zero = 1 << 62
		return nil
	}
	if d.zero, err = d.zeros.next(); err == io.EOF {
		d.ended, d.zero = true, 1<<62
		return nil
	} else if err != nil {
		return err
	}
	if d.run, err = d.wrongs.next(); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	d.run++
	return err
}

func (d *diffReader) fill() error {
	n, err := d.bytes.Read(d.buf)
	if d.have = d.buf[:n]; n > 0 {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
