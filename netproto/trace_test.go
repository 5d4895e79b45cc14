package netproto_test

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"collet/netproto"
	"collet/platform/testlevel"
)

// trace is a recorded connection between the engine's own client and server.
type trace struct {
	name           string // as the vectors that were cut out of it begin
	generation     netproto.Generation
	client, server []byte // as they stood on the wire; server's is compressed
	chunks         []chunk
}

// chunk is what one side sent at a time.
type chunk struct {
	client bool
	data   []byte
}

func readTraces(t testing.TB) []trace {
	t.Helper()
	files, err := filepath.Glob("testdata/traces/*.txt")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	var all []trace
	for _, file := range files {
		revision, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), "-")
		tr := trace{name: name, generation: map[string]netproto.Generation{"p1": netproto.G1, "p2": netproto.G2b}[revision], chunks: readChunks(t, file)}
		for _, c := range tr.chunks {
			if c.client {
				tr.client = append(tr.client, c.data...)
			} else {
				tr.server = append(tr.server, c.data...)
			}
		}
		all = append(all, tr)
	}
	return all
}

// readChunks reads one recording.
func readChunks(t testing.TB, file string) (chunks []chunk) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(text), "\r", ""), "\n\n")
	for line := range strings.Lines(body) {
		who, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		chunks = append(chunks, chunk{who == "C", data})
	}
	return chunks
}

// inflated is what the server sent before it was compressed. The stream ends in the middle, as it should.
func (tr trace) inflated(t testing.TB) []byte { return inflate(t, tr.server) }

func inflate(t testing.TB, data []byte) []byte {
	t.Helper()
	zr, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("the stream is finished or damaged: %v", err)
	}
	return plain
}

// want is what the recording says that one side sent, message by message.
func (tr trace) want(t testing.TB, side netproto.Side) (all [][]string) {
	for _, v := range readVectors(t, "vectors/"+strings.ToLower(tr.generation.String())+"/"+tr.name+"-*.txt") {
		if v.side() == side {
			all = append(all, append([]string{v.one("message")}, v.head["want"]...))
		}
	}
	return all
}

// readAll reads until the peer's close.
func readAll(t testing.TB, c *netproto.Conn) []netproto.Message {
	t.Helper()
	var all []netproto.Message
	for {
		m, err := c.Read()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		if err != nil {
			t.Fatalf("message %d: %v", len(all), err)
		}
		all = append(all, m)
	}
}

// compare checks messages against the recording.
func compare(t *testing.T, g netproto.Generation, got []netproto.Message, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i, m := range got {
		name, _, _ := strings.Cut(m.ID().String(), " ")
		if lines := append([]string{name}, describe(t, g, m)...); !slices.Equal(lines, want[i]) {
			t.Errorf("message %d: %q, want %q", i, lines, want[i])
		}
	}
}

// TestTraces plays the recorded client into our server's side and the recorded server into our client's side, and lets
// each of our sides say the same again.
func TestTraces(t *testing.T) {
	for _, tr := range readTraces(t) {
		t.Run(tr.generation.String()+" "+tr.name, func(t *testing.T) {
			server := serverConn(tr.client, nil)
			said := readAll(t, server)
			compare(t, tr.generation, said, tr.want(t, netproto.ClientSide))
			if server.Generation() != tr.generation {
				t.Errorf("generation %v", server.Generation())
			}
			var out bytes.Buffer
			client := clientConn(t, tr.generation, tr.server, &out)
			answered := readAll(t, client)
			compare(t, tr.generation, answered, tr.want(t, netproto.ServerSide))

			writeEach(t, client, said)
			if !bytes.Equal(out.Bytes(), tr.client) {
				t.Errorf("client encodes\n%x\nwant\n%x", out.Bytes(), tr.client)
			}
			for _, compressed := range []bool{false, true} {
				t.Run(map[bool]string{false: "plain", true: "zlib"}[compressed], func(t *testing.T) {
					speakAgain(t, tr, answered, compressed)
				})
			}
		})
	}
}

// speakAgain lets our server's side send the recorded messages and compares what is on the wire.
func speakAgain(t *testing.T, tr trace, messages []netproto.Message, compressed bool) {
	var out bytes.Buffer
	server := serverConn(tr.client, &out, netproto.WithZlib(compressed))
	if _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	writeEach(t, server, messages)
	sent := out.Bytes()
	if compressed {
		if !bytes.HasPrefix(sent, []byte{0x78, 0x01}) || !bytes.HasSuffix(sent, []byte{0, 0, 0xff, 0xff}) {
			t.Errorf("begins %x, ends %x: not an open stream of level 1", sent[:2], sent[len(sent)-4:])
		}
		sent = inflate(t, sent)
	}
	if !bytes.Equal(sent, tr.inflated(t)) {
		t.Errorf("server encodes\n%x\nwant\n%x", sent, tr.inflated(t))
	}
}

func writeEach(t *testing.T, c *netproto.Conn, messages []netproto.Message) {
	t.Helper()
	for _, m := range messages {
		if err := c.Write(m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTracesByteByByte cuts the recorded streams in two, at every byte where enumerations are whole, and into single bytes.
func TestTracesByteByByte(t *testing.T) {
	for _, tr := range readTraces(t) {
		for _, side := range []netproto.Side{netproto.ClientSide, netproto.ServerSide} {
			t.Run(tr.generation.String()+" "+tr.name+" "+side.String(), func(t *testing.T) {
				input := map[netproto.Side][]byte{netproto.ClientSide: tr.server, netproto.ServerSide: tr.client}[side]
				want := tr.want(t, map[netproto.Side]netproto.Side{1: 2, 2: 1}[side])
				compare(t, tr.generation, readAll(t, connOf(t, tr.generation, side, iotest.OneByteReader(bytes.NewReader(input)))), want)
				for cut := 0; cut < len(input); cut += testlevel.Stride(7, 31) {
					halves := io.MultiReader(bytes.NewReader(input[:cut]), bytes.NewReader(input[cut:]))
					compare(t, tr.generation, readAll(t, connOf(t, tr.generation, side, halves)), want)
				}
			})
		}
	}
}

// TestTracesEndAnywhere stops the recorded streams, at every byte where enumerations are whole: an end between frames is io.EOF, one inside a frame is
// io.ErrUnexpectedEOF, and neither is the peer's fault.
func TestTracesEndAnywhere(t *testing.T) {
	for _, tr := range readTraces(t) {
		for cut := 0; cut < len(tr.client); cut += testlevel.Stride(7, 31) {
			endAt(t, connOf(t, tr.generation, netproto.ServerSide, bytes.NewReader(tr.client[:cut])), cut)
		}
		for cut := 0; cut < len(tr.server); cut += testlevel.Stride(7, 31) {
			endAt(t, connOf(t, tr.generation, netproto.ClientSide, bytes.NewReader(tr.server[:cut])), cut)
		}
	}
}

func endAt(t *testing.T, c *netproto.Conn, cut int) {
	t.Helper()
	for {
		_, err := c.Read()
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if _, again := c.Read(); again != err {
			t.Errorf("cut at %d: %v, then %v", cut, err, again)
		}
		return
	}
}

func connOf(t testing.TB, g netproto.Generation, side netproto.Side, r io.Reader) *netproto.Conn {
	t.Helper()
	c := netproto.NewConn(stream{Reader: r}, side, netproto.Limits{})
	if side == netproto.ClientSide {
		if err := c.SetGeneration(g); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
