package server_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// recordings are what clients sent in recorded connections, and a conversation of our own generation.
func recordings(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("../testdata/traces/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	var all [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sent []byte
		for line := range strings.Lines(string(text)) {
			digits, fromClient := strings.CutPrefix(strings.TrimSpace(line), "C ")
			if chunk, err := hex.DecodeString(digits); fromClient && err == nil {
				sent = append(sent, chunk...)
			}
		}
		if len(sent) == 0 {
			t.Fatalf("%s: no client in it", file)
		}
		all = append(all, sent)
	}
	return append(all, ownConversation(t))
}

func ownConversation(t testing.TB) []byte {
	t.Helper()
	var sent bytes.Buffer
	wire := netproto.NewConn(struct {
		io.ReadWriter
		io.Closer
	}{&sent, io.NopCloser(nil)}, netproto.ClientSide, netproto.Limits{})
	if err := wire.SetGeneration(netproto.C1); err != nil {
		t.Fatal(err)
	}
	if err := wire.Write(servertest.Handshake(netproto.C1), &netproto.Ping{}, &netproto.GetRange{Request: 1, Index: 1, Length: 500},
		&netproto.GetRange{Request: 2, Index: 0, Offset: 280, Length: 500}, &netproto.Ping{Answer: true}); err != nil {
		t.Fatal(err)
	}
	return sent.Bytes()
}

// What a change of a recording does; each is four bytes: which, where (16 bits), how much.
const (
	changeByte    = 0
	changeDrop    = 1
	changeRepeat  = 2
	changeInsert  = 3
	changeCut     = 4
	changeLength  = 5 // four bytes that mean a huge or tiny number
	changeSplice  = 6 // go on as another recording
	changeReverse = 7
	changes       = 8
)

// mutated applies changes to a recording. Any bytes are changes.
func mutated(all [][]byte, which byte, edits []byte) []byte {
	sent := bytes.Clone(all[int(which)%len(all)])
	for ; len(edits) >= 4 && len(sent) > 0 && len(sent) < 1<<20; edits = edits[4:] {
		at := int(binary.LittleEndian.Uint16(edits[1:])) % len(sent)
		n := min(int(edits[3])+1, len(sent)-at)
		part := bytes.Clone(sent[at : at+n])
		switch edits[0] % changes {
		case changeByte:
			sent[at] ^= edits[3] | 1
		case changeDrop:
			sent = append(sent[:at], sent[at+n:]...)
		case changeRepeat:
			sent = append(sent[:at:at], append(bytes.Repeat(part, 3), sent[at+n:]...)...)
		case changeInsert:
			sent = append(sent[:at:at], append(bytes.Repeat([]byte{edits[3]}, 50), sent[at:]...)...)
		case changeCut:
			sent = sent[:at]
		case changeLength:
			number := []uint32{0, 1, 8, 9, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 20}[edits[3]%8]
			copy(sent[at:], binary.LittleEndian.AppendUint32(nil, number))
		case changeSplice:
			other := all[int(edits[3])%len(all)]
			sent = append(sent[:at], other[min(at, len(other)):]...)
		case changeReverse:
			for i := range n / 2 {
				sent[at+i], sent[at+n-1-i] = sent[at+n-1-i], sent[at+i]
			}
		}
	}
	return sent
}

// liveServer listens on a socket of this machine, which never runs out of ports.
func liveServer(t testing.TB) *servertest.Server {
	t.Helper()
	set := config.ForFolder(servertest.WriteFolder(t, servertest.Files()), servertest.Compatibility)
	set.Network.UpdateFileMaxPortionSize = 1000
	folder, err := os.MkdirTemp("", "collet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	listener, err := net.Listen("unix", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Open(t, set).ServeOn(t, listener)
}

// playBytes sends bytes and closes, while it reads what comes back. It fails if the server neither takes nor answers.
func playBytes(h *servertest.Server, t testing.TB, sent []byte, readFirst bool) {
	conn, err := net.Dial("unix", h.Addr)
	if err != nil {
		t.Errorf("the server accepts no connection any more: %v", err)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(io.Discard, conn) })
	if _, err := conn.Write(sent); os.IsTimeout(err) {
		t.Error("the server does not read")
	}
	if readFirst {
		conn.(*net.UnixConn).CloseWrite() // its answers are taken to the end
		reading.Wait()
		return
	}
	conn.Close()
	reading.Wait()
}

// expectNormal is a client that behaves, before and after others that don't.
func expectNormal(h *servertest.Server, t testing.TB) {
	conn, err := net.Dial("unix", h.Addr)
	if err != nil {
		t.Errorf("a normal client is not served: %v", err)
		return
	}
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	p := servertest.NewPeer(t, conn, netproto.C1)
	defer conn.Close()
	_, files := p.Greet(servertest.Handshake(netproto.C1))
	if got := string(p.Fetch(files[1])); got != content("", files[1]) {
		t.Errorf("a normal client got %d bytes", len(got))
	}
}

// TestMutatedRecordingsHarmNoOtherClient plays a few hundred changed recordings, four at a time, while normal clients come and
// go. The seeds are fixed; FuzzRecordings looks further.
func TestMutatedRecordingsHarmNoOtherClient(t *testing.T) {
	testlevel.Slow(t)
	const players, each, bound = 4, 100, 32 << 20
	h := liveServer(t)
	all := recordings(t)
	expectNormal(h, t)
	before := mapped()
	var playing sync.WaitGroup
	for player := range uint64(players) {
		playing.Go(func() {
			random := rand.New(rand.NewPCG(player, 4))
			for range each {
				edits := make([]byte, 4*random.IntN(8))
				for i := range edits {
					edits[i] = byte(random.Uint32())
				}
				playBytes(h, t, mutated(all, byte(random.Uint32()), edits), random.IntN(2) == 0)
			}
		})
	}
	for range 10 {
		expectNormal(h, t)
	}
	playing.Wait()
	expectNormal(h, t)
	h.WaitForNoClients(t)
	if grown := int64(mapped()) - int64(before); grown > bound {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// FuzzRecordings plays a changed recording against a server that goes on for the whole run, and then a normal client.
func FuzzRecordings(f *testing.F) {
	all := recordings(f)
	for i := range all {
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte{changeLength, 4, 0, 6})
		f.Add(byte(i), []byte{changeLength, 60, 0, 4, changeRepeat, 40, 0, 200})
		f.Add(byte(i), []byte{changeSplice, 59, 0, byte(i + 1)})
	}
	h := liveServer(f)
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		playBytes(h, t, mutated(all, which, edits), which&0x80 != 0)
		expectNormal(h, t)
		h.WaitForNoClients(t)
	})
}
