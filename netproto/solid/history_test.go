package solid_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"collet/netproto/solid"
)

// scratch is a solid.Scratch in memory.
type scratch struct {
	mu          sync.Mutex
	data        []byte
	read, write error // of the next calls
}

func (s *scratch) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, p...)
	return len(p), s.write
}

func (s *scratch) ReadAt(p []byte, at int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read != nil {
		return 0, s.read
	}
	return bytes.NewReader(s.data).ReadAt(p, at)
}

// TestWindow: a group comes out the same whatever part of it is in memory, also for a reader that lags behind the decoder.
func TestWindow(t *testing.T) {
	t.Parallel()
	all := groups()
	for _, name := range []string{"short", "period 3", "versions", "shuffled", "noise"} {
		data := all[name]
		part := bytes.Join(encode(t, data, solid.Fast), nil)
		for _, window := range []int{1, 1000, 300_000, len(data) - 1, len(data)} {
			if window < 1 || window > len(data) || len(data) > 1000*window {
				continue
			}
			older := new(scratch)
			d, err := solid.NewDecoder(int64(len(data)), make([]byte, 0, window), older)
			if err != nil {
				t.Fatal(err)
			}
			seen, wrong := make(chan int64, 100), make(chan int64, 1)
			go func() {
				random := rand.New(rand.NewPCG(uint64(window), 1))
				at := int64(-1)
				for n := range seen {
					from := random.Int64N(n)
					got := make([]byte, random.Int64N(min(n-from, 200_000)+1))
					if _, err := d.ReadAt(got, from); err != nil || !bytes.Equal(got, data[from:][:len(got)]) {
						at = from
					}
				}
				wrong <- at
			}()
			err = d.Part(bytes.NewReader(part), int64(len(part)), func() error {
				for range 5 {
					seen <- d.Len()
				}
				return nil
			})
			close(seen)
			if at := <-wrong; err != nil || at >= 0 || !d.Done() {
				t.Errorf("%s in %d bytes: %v, done %v, wrong at %d", name, window, err, d.Done(), at)
			}
			got := make([]byte, len(data))
			if _, err := d.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s in %d bytes: the whole is wrong: %v", name, window, err)
			}
			if least := len(data) - window; len(older.data) < least {
				t.Errorf("%s in %d bytes: %d are in the scratch, want %d", name, window, len(older.data), least)
			}
		}
	}
}

// TestScratchFails: errors of the scratch are returned as they are, and are no fault of the part.
func TestScratchFails(t *testing.T) {
	t.Parallel()
	data := groups()["versions"]
	part := bytes.Join(encode(t, data, solid.Fast), nil)
	for name, older := range map[string]*scratch{"writing": {write: errBroken}, "reading": {read: errBroken}} {
		d, err := solid.NewDecoder(int64(len(data)), make([]byte, 0, 1000), older)
		if err != nil {
			t.Fatal(err)
		}
		var own *solid.Error
		if err := d.Part(bytes.NewReader(part), int64(len(part)), nil); !errors.Is(err, errBroken) || errors.As(err, &own) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
