package netproto_test

import (
	"bytes"
	"testing"

	"collet/netproto"
)

// fuzzLimits keep one input from taking long; what they cap is tested elsewhere.
func fuzzLimits() netproto.Limits {
	return netproto.Limits{Hello: 4 << 10, Frame: 64 << 10, String: 4 << 10, List: 4 << 10}
}

// FuzzFrame decodes arbitrary frames of both generations anywhere in an enciphered stream. Whatever is accepted is
// encoded again to the same bytes.
func FuzzFrame(f *testing.F) {
	for _, v := range readVectors(f, "vectors/*/*.txt") {
		key, offset := v.cipher(f)
		f.Add(uint8(v.generation(f)), key, uint8(offset%50), v.data)
	}
	f.Fuzz(func(t *testing.T, generation uint8, key uint32, offset uint8, data []byte) {
		g := netproto.Generation(generation)
		if !g.Spoken() || len(data) > 1<<20 {
			return
		}
		before := bytes.Clone(data)
		m, err := netproto.DecodeFrame(g, key, int(offset), fuzzLimits(), data)
		if !bytes.Equal(before, data) {
			t.Fatal("the input was changed")
		}
		if _, unknown := m.(*netproto.Unknown); err != nil || unknown {
			return
		}
		again, err := netproto.EncodeFrame(g, key, int(offset), m)
		if err != nil {
			t.Fatalf("%+v was read and can't be written: %v", m, err)
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("%x\nbecomes\n%x", data, again)
		}
	})
}

// FuzzServer feeds a server's side. What is read, up to where it ends, is encoded again to the same bytes, apart from
// what was passed over.
func FuzzServer(f *testing.F) {
	for _, tr := range readTraces(f) {
		f.Add(tr.client)
	}
	for _, v := range readVectors(f, "vectors/c1/handshake*.txt") {
		f.Add(append(v.data, readVectors(f, "vectors/c1/getrange.txt")[0].data...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		conn := netproto.NewConn(stream{Reader: bytes.NewReader(input)}, netproto.ServerSide, fuzzLimits())
		messages := drain(conn)
		if len(messages) == 0 {
			return
		}
		var out bytes.Buffer
		client := clientConn(t, conn.Generation(), nil, &out)
		for _, m := range messages {
			if _, unknown := m.(*netproto.Unknown); unknown {
				break
			}
			if err := client.Write(m); err != nil {
				t.Fatalf("%+v was read and can't be written: %v", m, err)
			}
		}
		if !bytes.HasPrefix(input, out.Bytes()) {
			t.Fatalf("%x\nbecomes\n%x", input, out.Bytes())
		}
	})
}

// FuzzClient feeds a client's side of either generation, compressed or not. Nothing panics and nothing is held that did
// not arrive.
func FuzzClient(f *testing.F) {
	for _, tr := range readTraces(f) {
		f.Add(false, tr.server)
		f.Add(false, tr.inflated(f))
	}
	for _, v := range readVectors(f, "vectors/c1/*.txt") {
		f.Add(true, v.data)
	}
	f.Fuzz(func(t *testing.T, own bool, input []byte) {
		g := netproto.G1
		if own {
			g = netproto.C1
		}
		conn := netproto.NewConn(stream{Reader: bytes.NewReader(input)}, netproto.ClientSide, fuzzLimits())
		if err := conn.SetGeneration(g); err != nil {
			t.Fatal(err)
		}
		drain(conn)
	})
}

// drain reads to the end, whatever it is.
func drain(conn *netproto.Conn) (all []netproto.Message) {
	for {
		m, err := conn.Read()
		if err != nil {
			return all
		}
		all = append(all, m)
	}
}

// FuzzDescriptor parses arbitrary lists of files. Whatever is accepted is encoded again to the same bytes.
func FuzzDescriptor(f *testing.F) {
	for _, v := range readVectors(f, "vectors/g1/*initdata*.txt") {
		key, offset := v.cipher(f)
		m, err := netproto.DecodeFrame(netproto.G1, key, offset, netproto.DefaultClientLimits(), v.data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.(*netproto.InitData).Descriptor)
	}
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := netproto.ParseDescriptor(data, fuzzLimits())
		if err != nil || len(data) == 0 {
			return
		}
		again, err := netproto.EncodeDescriptor(entries)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%x\nbecomes\n%x, %v", data, again, err)
		}
	})
}

// FuzzTags changes arbitrary tails. The result is in order, has the new value, and keeps every other one.
func FuzzTags(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 0, 0, 'x', 5, 0, 0, 0, 0, 0}, uint16(3), []byte("new"))
	f.Fuzz(func(t *testing.T, tail []byte, tag uint16, value []byte) {
		list := &netproto.FileList{Tags: tail}
		if _, err := netproto.EncodeFrame(netproto.C1, 0, 0, list); err != nil {
			return // not a tail
		}
		changed := netproto.Tags(tail).With(tag, value)
		if got, found := changed.Get(tag); !found || !bytes.Equal(got, value) {
			t.Fatalf("tag %d is %x, %t", tag, got, found)
		}
		for number, v := range netproto.Tags(tail).All() {
			if got, found := changed.Get(number); number != tag && (!found || !bytes.Equal(got, v)) {
				t.Fatalf("tag %d was %x and is %x", number, v, got)
			}
		}
		if _, err := netproto.EncodeFrame(netproto.C1, 0, 0, &netproto.FileList{Tags: changed}); err != nil {
			t.Fatal(err)
		}
	})
}
