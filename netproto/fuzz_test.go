package netproto_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
	"testing/iotest"

	"collet/netproto"
	"collet/netproto/compat"
)

// fuzzLimits keep one input from taking long; what they cap is tested elsewhere.
func fuzzLimits() netproto.Limits {
	return netproto.Limits{Hello: 4 << 10, Frame: 64 << 10, String: 4 << 10, List: 4 << 10}
}

// fuzzOverhead is what reading may allocate whatever the input, in bytes: buffers of a connection, and of an inflater.
const fuzzOverhead = 512 << 10

// bounded fails when reading input allocated more than a small multiple of it: the most that any list makes of the
// smallest entry that it can have is some twelve-fold (an empty property is 4 bytes on the wire and 24 in memory).
func bounded(t *testing.T, input int, read func()) {
	t.Helper()
	const factor = 32
	if cost := allocated(read); cost > uint64(factor*input+fuzzOverhead) {
		t.Fatalf("%d bytes allocated for %d", cost, input)
	}
}

// FuzzFrame decodes arbitrary frames of every generation at any position of an enciphered stream. An accepted frame is
// encoded again to the same bytes.
func FuzzFrame(f *testing.F) {
	for _, v := range readVectors(f, "vectors/*/*.txt") {
		key, offset := v.cipher(f)
		f.Add(uint8(v.generation(f)), key, uint8(offset%50), v.data)
	}
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		f.Add(uint8(g), uint32(0), uint8(0), frame(f, g, &netproto.InfoMessage{Code: 1, Text: "x"}))
	}
	f.Fuzz(func(t *testing.T, generation uint8, key uint32, offset uint8, data []byte) {
		g := netproto.Generation(generation)
		if !g.Spoken() || len(data) > 1<<20 {
			return
		}
		before := bytes.Clone(data)
		var m netproto.Message
		var err error
		bounded(t, len(data), func() { m, err = netproto.DecodeFrame(g, key, int(offset), fuzzLimits(), data) })
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

// FuzzServer feeds a server's side. The messages up to the end are encoded again to the same bytes, except skipped ones.
func FuzzServer(f *testing.F) {
	for _, tr := range readTraces(f) {
		f.Add(tr.client)
	}
	for _, v := range readVectors(f, "vectors/g2*/*handshake*.txt") {
		f.Add(v.data)
	}
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		offer := &netproto.Handshake{Version: g.Version(), Compatibility: "compat-A", Target: "Linux-x64", Key: netproto.OfferKey(netproto.CapPipeline)}
		f.Add(append(frame(f, g, offer), frame(f, netproto.C1, &netproto.Ping{})...))
	}
	for _, v := range readVectors(f, "vectors/c1/handshake*.txt") {
		f.Add(append(v.data, readVectors(f, "vectors/c1/getrange.txt")[0].data...))
		f.Add(append(v.data, readVectors(f, "vectors/c1/getobject.txt")[0].data...))
	}
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		f.Add(append(append(frame(f, g, offerOf(g)), frame(f, netproto.C1, ownHello(f))...), frame(f, netproto.C1, shown(f, clientManifest(), compat.ManifestFull))...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var said bytes.Buffer
		conn := netproto.NewConn(stream{Reader: bytes.NewReader(input), Writer: &said}, netproto.ServerSide, fuzzLimits())
		var messages []netproto.Message
		bounded(t, len(input), func() { messages = drain(conn) })
		if len(messages) == 0 {
			return
		}
		var out bytes.Buffer
		g := conn.Generation()
		if said.Len() > 0 { // it asked for the hello that it gives, behind an offer
			input = input[binary.LittleEndian.Uint32(input[4:]):]
		}
		if hello := messages[0].(*netproto.Handshake); hello.Offer != 0 {
			out.Write(frame(t, hello.Offer, netproto.Offered(hello)))
			messages = messages[1:]
		}
		client := clientConn(t, g, nil, &out)
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

// FuzzClient feeds a client's side of any generation, without compression: no panic, and memory bounded by the input.
func FuzzClient(f *testing.F) {
	for _, tr := range readTraces(f) {
		f.Add(uint8(tr.generation), tr.inflated(f))
	}
	for _, v := range readVectors(f, "vectors/c1/*.txt") {
		f.Add(uint8(netproto.C1), v.data)
	}
	f.Fuzz(func(t *testing.T, generation uint8, input []byte) {
		g := netproto.Generation(generation)
		if !g.Spoken() || len(input) > 0 && input[0] == 0x78 {
			return // FuzzZlib is about those
		}
		bounded(t, len(input), func() { drain(clientOf(t, g, input)) })
	})
}

// clientOf is a client's Conn with the limits of fuzzing.
func clientOf(t *testing.T, g netproto.Generation, input []byte) *netproto.Conn {
	conn := netproto.NewConn(stream{Reader: bytes.NewReader(input)}, netproto.ClientSide, fuzzLimits())
	if err := conn.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	return conn
}

// FuzzZlib feeds a client of the engine's generations a compressed stream: as it is, and in batches of single bytes.
// Both give the same messages, and each message is bounded by the frame limit, whatever the stream inflates to.
func FuzzZlib(f *testing.F) {
	for _, tr := range readTraces(f) {
		f.Add(tr.generation == netproto.G2b, tr.server[2:])
	}
	f.Add(false, readVectors(f, "zlib/two-batches.txt")[0].data[2:])
	f.Add(false, bomb(f)[2:])
	f.Fuzz(func(t *testing.T, metadata bool, input []byte) {
		g := netproto.G1
		if metadata {
			g = netproto.G2b
		}
		const longest = 8 << 10 // a few MB when inflated; longer ones only take longer
		if len(input) > longest {
			return
		}
		input = append([]byte{0x78, 0x01}, input...)
		whole, largest := 0, uint64(0)
		conn := clientOf(t, g, input)
		var end error
		for ; end == nil; whole++ {
			read := func() { _, end = conn.Read() }
			if whole > 50 {
				read() // measuring stops the world
				continue
			}
			largest = max(largest, allocated(read))
		}
		if most := uint64(32*fuzzLimits().Frame + fuzzOverhead); largest > most {
			t.Fatalf("%d bytes allocated for one message, at most %d expected", largest, most)
		}
		bits := netproto.NewConn(stream{Reader: iotest.OneByteReader(bytes.NewReader(input))}, netproto.ClientSide, fuzzLimits())
		if err := bits.SetGeneration(g); err != nil {
			t.Fatal(err)
		}
		if got := len(drain(bits)) + 1; got != whole {
			t.Fatalf("%d messages in single bytes, %d at once", got, whole)
		}
	})
}

// bomb is a compressed stream of an answer and a megabyte of unknown messages.
func bomb(f *testing.F) []byte {
	var wire bytes.Buffer
	server := serverConn(frame(f, netproto.G1, hello(netproto.G1)), &wire, netproto.WithZlib(true))
	if _, err := server.Read(); err != nil {
		f.Fatal(err)
	}
	messages := []netproto.Message{&netproto.HandshakeAnswer{}}
	for range 20 {
		messages = append(messages, &netproto.Unknown{Number: 200, Body: make([]byte, 50_000)})
	}
	if err := server.Write(messages...); err != nil {
		f.Fatal(err)
	}
	return wire.Bytes()
}

// FuzzMetadata reads arbitrary files and packs for their metadata version. What is found is a version.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(metadataFile("fedcba9876543210")))
	f.Add(archive(f, netproto.MetadataFile, metadataFile("fedcba9876543210")))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func() (string, error){
			func() (string, error) { return netproto.ParseMetadata(data) },
			func() (string, error) { return netproto.PackMetadata(bytes.NewReader(data), int64(len(data))) },
		} {
			version, err := read()
			if (err == nil) != (version != "") || len(version) > netproto.MaxMetadata {
				t.Fatalf("%q, %v", version, err)
			}
		}
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
	for _, v := range readVectors(f, "vectors/g*/*initdata*.txt") {
		key, offset := v.cipher(f)
		m, err := netproto.DecodeFrame(v.generation(f), key, offset, netproto.DefaultClientLimits(), v.data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.(*netproto.InitData).Descriptor)
	}
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var entries []netproto.Entry
		var err error
		bounded(t, len(data), func() { entries, err = netproto.ParseDescriptor(data, fuzzLimits()) })
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

// FuzzHelloTags reads arbitrary tails of hellos. What is taken is said again in the same way, and what is said is the same.
func FuzzHelloTags(f *testing.F) {
	f.Add([]byte(helloTail(f, fullHello())))
	f.Add([]byte(helloTail(f, fullHello()).With(300, []byte("later"))))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, tail []byte) {
		h, err := readHello(t, tail)
		if err != nil {
			return
		}
		said := h.Said()
		if err := h.Say(said); err != nil || h.Said() != said {
			t.Fatalf("%+v becomes %+v, %v", said, h.Said(), err)
		}
		again, err := readHello(t, h.Tags)
		if err != nil || again.Said() != said || len(h.Tags) > len(tail) {
			t.Fatalf("%+v becomes %+v, %v", said, again, err)
		}
		if got := h.Hello(netproto.C1); got.Build.Logic != said.Build.Logic || got.Patch != said.Patch {
			t.Fatalf("%+v is judged as %+v", said, got)
		}
	})
}

// FuzzAnswerTags reads arbitrary tails of answers. What is taken is told again in the same way, and what is told is the same.
func FuzzAnswerTags(f *testing.F) {
	f.Add([]byte(answerTail(f, fullAnswer())))
	f.Add([]byte(answerTail(f, fullAnswer()).With(netproto.TagRoot, make([]byte, 8))))
	f.Fuzz(func(t *testing.T, tail []byte) {
		a, err := readAnswer(t, tail)
		if err != nil {
			return
		}
		told := a.Told()
		if err := a.Tell(told); err != nil || !reflect.DeepEqual(a.Told(), told) {
			t.Fatalf("%+v becomes %+v, %v", told, a.Told(), err)
		}
		again, err := readAnswer(t, a.Tags)
		if err != nil || !reflect.DeepEqual(again.Told(), told) {
			t.Fatalf("%+v becomes %+v, %v", told, again, err)
		}
	})
}

// FuzzManifest reads arbitrary manifests. What is taken passes every check, is written again to the same bytes, and can be
// compared with any other.
func FuzzManifest(f *testing.F) {
	for _, mode := range []compat.ManifestMode{compat.ManifestNone, compat.ManifestHashes, compat.ManifestFull} {
		f.Add(frame(f, netproto.C1, shown(f, serverManifest(), mode))[9:])
		f.Add(frame(f, netproto.C1, shown(f, clientManifest(), mode))[9:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		input := rawFrame(netproto.IDComponentManifest, string(body))
		var m netproto.Message
		var err error
		bounded(t, len(input), func() { m, err = clientOf(t, netproto.C1, input).Read() })
		if err != nil {
			return
		}
		got := &m.(*netproto.ComponentManifest).Manifest
		if err := got.Check(); err != nil {
			t.Fatal(err)
		}
		if again := frame(t, netproto.C1, m); !bytes.Equal(again, input) {
			t.Fatalf("%x\nbecomes\n%x", input, again)
		}
		if d := compat.DiffManifests(got, got); len(d.Items) != 0 {
			t.Fatalf("it differs from itself: %+v", d)
		}
		compat.DiffManifests(got, serverManifest())
	})
}
