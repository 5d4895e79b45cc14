package delta

import (
	"encoding/binary"
	"io"
)

// A difference is kept as runs of zeros and runs of wrong bytes in turn: their lengths in two streams of numbers,
// the wrong bytes (new minus expected) in a third. A single zero inside a run of wrong bytes counts as wrong.

// diffWriter collects a difference.
type diffWriter struct {
	zeros, wrongs, bytes []byte
	zero                 int // right bytes since the last wrong one
	run                  int // length of the current run of wrong bytes
}

// diffGap is the number of right bytes that does not yet end a run of wrong ones: a new run costs about two bytes.
const diffGap = 1

// add notes how got differs from want, which is as long.
func (d *diffWriter) add(want, got []byte) {
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

// diffReader adds a difference to expected bytes.
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

// correct turns expected bytes into the new ones, in place.
func (d *diffReader) correct(b []byte) error {
	if n := uint64(len(b)); n <= d.zero { // nearly always
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

// nextRun reads the next pair of lengths. After the last pair everything is right.
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
