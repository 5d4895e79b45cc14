package faultfs

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// model is a file as a plain slice, and which of its bytes take room.
type model struct {
	data []byte
	held []bool
}

func (m *model) put(off int, data []byte) {
	m.resize(max(len(m.data), off+len(data)))
	copy(m.data[off:], data)
	for i := range data {
		m.held[off+i] = true
	}
}

func (m *model) resize(size int) {
	for len(m.data) < size {
		m.data, m.held = append(m.data, 0), append(m.held, false)
	}
	m.data, m.held = m.data[:size], m.held[:size]
}

func (m *model) clear(from, to int) {
	for i := max(from, 0); i < min(to, len(m.data)); i++ {
		m.data[i], m.held[i] = 0, false
	}
}

func (m *model) stored() (n int64) {
	for _, held := range m.held {
		if held {
			n++
		}
	}
	return n
}

// fits counts byte by byte.
func (m *model) fits(off, n, room int) int {
	for i := range n {
		if off+i >= len(m.held) || !m.held[off+i] {
			if room--; room < 0 {
				return i
			}
		}
	}
	return n
}

// TestContentAgainstAModel plays at random with both, sharing now and then: shared copies must not follow.
func TestContentAgainstAModel(t *testing.T) {
	const limit = 600
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		var c content
		m := &model{}
		for turn := range 200 {
			off, n := r.IntN(limit), r.IntN(60)
			if room := r.IntN(80); c.fits(int64(off), n, int64(room)) != m.fits(off, n, room) {
				t.Fatalf("seed %d turn %d: of %d bytes at %d fit %d in %d, want %d", seed, turn, n, off,
					c.fits(int64(off), n, int64(room)), room, m.fits(off, n, room))
			}
			before, copied := bytes.Clone(m.data), content{}
			shares := r.IntN(3) == 0
			if shares {
				copied = c.share()
			}
			switch r.IntN(5) {
			case 0, 1, 2:
				data := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, n)
				c.putBytes(int64(off), data)
				if n > 0 {
					m.put(off, data)
				}
			case 3:
				c.resize(int64(off))
				m.resize(off)
			case 4:
				c.clear(int64(off), int64(off+n))
				m.clear(off, off+n)
			}
			if got := c.readAll(); !bytes.Equal(got, m.data) || c.stored != m.stored() {
				t.Fatalf("seed %d turn %d: holds %q (%d stored), want %q (%d)", seed, turn, got, c.stored, m.data, m.stored())
			}
			if got := copied.readAll(); shares && !bytes.Equal(got, before) {
				t.Fatalf("seed %d turn %d: a copy changed to %q", seed, turn, got)
			}
			wantOrder(t, &c)
		}
	}
}

// wantOrder checks what the rest relies on: extents in order, not empty, not overlapping, within the size.
func wantOrder(t *testing.T, c *content) {
	t.Helper()
	var end int64
	for _, e := range c.extents {
		if e.off < end || len(e.data) == 0 || e.end() > c.size {
			t.Fatalf("extent at %d of %d bytes after %d in a file of %d", e.off, len(e.data), end, c.size)
		}
		end = e.end()
	}
}

func TestReadAtEdges(t *testing.T) {
	var c content
	c.putBytes(4, []byte("abcd"))
	c.resize(12)
	for _, r := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 0, "", nil}, {0, 4, "\x00\x00\x00\x00", nil}, {2, 4, "\x00\x00ab", nil}, {5, 2, "bc", nil}, {6, 4, "cd\x00\x00", nil},
		{8, 4, "\x00\x00\x00\x00", nil}, {10, 4, "\x00\x00", io.EOF}, {12, 1, "", io.EOF}, {99, 1, "", io.EOF},
	} {
		p := bytes.Repeat([]byte{'?'}, r.n)
		n, err := c.readAt(p, r.off)
		if string(p[:n]) != r.want || err != r.err {
			t.Errorf("%d bytes at %d: %q, %v", r.n, r.off, p[:n], err)
		}
	}
}

// TestCompact joins small extents, leaves gaps, and does not touch copies that others have.
func TestCompact(t *testing.T) {
	var c content
	for i := range int64(3000) {
		if i%500 != 7 { // a gap now and then
			c.putBytes(i*10, bytes.Repeat([]byte{byte(i)}, 10))
		}
	}
	copied, before := c.share(), c.readAll()
	stored := c.stored
	c.compact()
	wantOrder(t, &c)
	if !bytes.Equal(c.readAll(), before) || !bytes.Equal(copied.readAll(), before) || c.stored != stored {
		t.Error("the bytes changed")
	}
	if n := len(c.extents); n != 7 {
		t.Errorf("%d extents are left, want one a gap and one more", n)
	}
	few := content{}
	few.putBytes(0, []byte("a"))
	few.putBytes(1, []byte("b"))
	if few.compact(); len(few.extents) != 2 {
		t.Error("copied what is small enough")
	}
}

// TestJoin plays changes one by one and joined, on any base.
func TestJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	apply := func(c *content, ch change) {
		c.resize(min(c.size, ch.cut))
		for _, p := range ch.pieces {
			c.putBytes(p.off, p.data)
		}
		c.resize(ch.size)
	}
	random := func(size int64) change {
		if r.IntN(3) == 0 {
			cut := int64(r.IntN(50))
			return change{cut: cut, size: cut}
		}
		p := extent{int64(r.IntN(50)), bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(20))}
		return change{cut: noCut, pieces: []extent{p}, size: max(size, p.end())}
	}
	for turn := range 5000 {
		var one, both content
		base := bytes.Repeat([]byte{'o'}, 1+r.IntN(50))
		one.putBytes(0, base)
		both.putBytes(0, base)
		first := random(one.size)
		apply(&one, first)
		second := random(one.size)
		apply(&one, second)
		joined := join(first, second)
		third := random(one.size)
		apply(&one, third)
		apply(&both, join(joined, third))
		if got, want := both.readAll(), one.readAll(); !bytes.Equal(got, want) {
			t.Fatalf("turn %d: %q, want %q; changes %+v, %+v, %+v", turn, got, want, first, second, third)
		}
	}
}
