package server_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// recording is one trace between the engine's own client and server, parsed: netproto's own tests vouch for that.
type recording struct {
	generation netproto.Generation
	asked      []netproto.Message // of the client, in order
	answered   []netproto.Message // of the server
}

// duplex is a connection that was recorded.
type duplex struct{ io.Reader }

func (duplex) Write(p []byte) (int, error) { return len(p), nil }

func (duplex) Close() error { return nil }

func readRecording(t *testing.T, name string, g netproto.Generation) recording {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "traces", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(text), "\r", ""), "\n\n")
	sides := map[string][]byte{}
	for line := range strings.Lines(body) {
		who, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		chunk, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		sides[who] = append(sides[who], chunk...)
	}
	client := netproto.NewConn(duplex{bytes.NewReader(sides["S"])}, netproto.ClientSide, netproto.Limits{})
	if err := client.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	return recording{
		generation: g,
		asked:      drained(t, netproto.NewConn(duplex{bytes.NewReader(sides["C"])}, netproto.ServerSide, netproto.Limits{})),
		answered:   drained(t, client),
	}
}

func drained(t *testing.T, c *netproto.Conn) (all []netproto.Message) {
	t.Helper()
	for {
		m, err := c.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// of picks the messages of one type.
func of[M netproto.Message](all []netproto.Message) (some []M) {
	for _, m := range all {
		if got, is := m.(M); is {
			some = append(some, got)
		}
	}
	return some
}

// recordedFixture is the package that the recorded servers served: the packs come out of the recordings themselves. The file of
// the other target is not told, and was not requested.
func recordedFixture(t *testing.T, cold recording) map[string]string {
	var packs [4]string
	requests, answers := of[*netproto.GetUpdateFile](cold.asked), of[*netproto.UpdateFileData](cold.answered)
	for i, r := range requests {
		if r.Index < 4 {
			packs[r.Index] += string(answers[i].Data)
		}
	}
	module := of[*netproto.UpdateFileData](readRecording(t, "p2-binary-update", netproto.G2b).answered)[1].Data
	return map[string]string{
		"Resources/Core.zip": packs[0], "Resources/Textures.zip": packs[1], "Resources/Zeros.zip": packs[2], "Resources/Tiny.zip": packs[3],
		"PlatformBinaries/Linux-arm64/Other.so":     "another file",
		"PlatformBinaries/Linux-x64/FoGame.so":      string(module),
		"PlatformBinaries/Linux-x64/FoGame.so.pdb":  "",
		"PlatformBinaries/Linux-x64/FoGameOther.so": "other-runtime",
	}
}

// TestReplayClient plays the recorded clients, with their keys, to our server, and compares all that it says with what the
// engine's server said: every answer whole but for the random key, every portion, and what a ping draws. The clock and the
// moment of the server's own pings are its own. The engine lists a folder in the order of its disk, ours by name, so
// the indexes of a target's files are translated by name.
func TestReplayClient(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		trace, cold   string
		g             netproto.Generation
		compatibility string
		portion       int
	}{
		{"p1-cold-download", "p1-cold-download", netproto.G1, "compat-A", 1000},
		{"p1-binary-update", "p1-cold-download", netproto.G1, "compat-A", config.DefaultPortion},
		{"p2-cold-download", "p2-cold-download", netproto.G2b, "compat-A", 1000},
		{"p2-binary-update", "p2-cold-download", netproto.G2b, "compat-A", config.DefaultPortion},
		{"p2-resume", "p2-cold-download", netproto.G2b, "compat-A", config.DefaultPortion},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(test.trace+map[bool]string{false: " zlib", true: " plain"}[plain], func(t *testing.T) {
				tr := readRecording(t, test.trace, test.g)
				files := recordedFixture(t, readRecording(t, test.cold, test.g))
				set := config.ForFolder(servertest.WriteFolder(t, files), test.compatibility)
				set.Network.UpdateFileMaxPortionSize = test.portion
				set.Network.DisableZlibCompression = plain
				set.Baking.ClientResourceEntries = []string{"Core", "Textures", "Zeros", "Tiny"}
				h := servertest.Start(t, set) // the metadata version is in the pack; in the one of P1's time it has no layout yet
				tr.replay(t, h.Dial(t, test.g))
				if test.g == netproto.G1 {
					h.Log.Has(t, "warn", "metadata version", "Core.zip")
				}
			})
		}
	}
}

// replay says what the client said, one message at a time.
func (tr recording) replay(t *testing.T, p *servertest.Peer) {
	portions := of[*netproto.UpdateFileData](tr.answered)
	index := map[uint32]uint32{}
	for _, m := range tr.asked {
		switch m := m.(type) {
		case *netproto.Handshake:
			p.Send(m)
			answer, want := servertest.Next[*netproto.HandshakeAnswer](p), of[*netproto.HandshakeAnswer](tr.answered)[0]
			if answer.Key == 0 {
				t.Error("no key")
			}
			if answer.Key = want.Key; !reflect.DeepEqual(answer, want) {
				t.Errorf("answer %+v, want %+v", answer, want)
			}
			index = sameOffer(t, servertest.Next[*netproto.InitData](p), of[*netproto.InitData](tr.answered)[0])
			if servertest.Next[*netproto.Ping](p).Answer {
				t.Error("an answer to no question")
			}
		case *netproto.Ping:
			p.Send(m)
			if !m.Answer && !servertest.Next[*netproto.Ping](p).Answer {
				t.Error("a question in place of an answer")
			}
			servertest.Next[*netproto.TimeSync](p)
		case *netproto.GetUpdateFile:
			p.Send(&netproto.GetUpdateFile{Index: index[m.Index], Offset: m.Offset})
			got := servertest.Next[*netproto.UpdateFileData](p)
			if !bytes.Equal(got.Data, portions[0].Data) {
				t.Errorf("file %d from %d: %d bytes, want the %d that were recorded", m.Index, m.Offset, len(got.Data), len(portions[0].Data))
			}
			portions = portions[1:]
		}
	}
	if len(portions) != 0 {
		t.Errorf("%d portions more were recorded", len(portions))
	}
}

// sameOffer compares lists by name, and where the engine's order is its own, byte for byte. It maps recorded indexes to ours.
func sameOffer(t *testing.T, got, want *netproto.InitData) map[uint32]uint32 {
	t.Helper()
	ours, err := netproto.ParseDescriptor(got.Descriptor, netproto.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := netproto.ParseDescriptor(want.Descriptor, netproto.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	index, ordered := map[uint32]uint32{}, slices.Clone(theirs)
	for i, e := range theirs {
		at := slices.IndexFunc(ours, func(o netproto.Entry) bool { return o.Name == e.Name })
		if at < 0 {
			t.Fatalf("%q is not offered", e.Name)
		}
		index[e.Index] = ours[at].Index
		ordered[at] = e
		ordered[at].Index = theirs[at].Index
		if e.Role == 0 && at != i {
			t.Errorf("%q stands at %d, want %d", e.Name, at, i)
		}
	}
	expected, err := netproto.EncodeDescriptor(ordered)
	if err != nil || !bytes.Equal(got.Descriptor, expected) {
		t.Errorf("%v; descriptor\n%x\nwant\n%x", err, got.Descriptor, expected)
	}
	return index
}

// metadataPack is a pack that carries a metadata version.
func metadataPack(t *testing.T, version string) string {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(netproto.MetadataFile)
	if err == nil {
		_, err = f.Write([]byte("FMDF\x01\x00" + string(rune(len(version))) + "\x00" + version))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestMetadataVersion covers where the version for G2b clients comes from, and what the answer says of theirs.
func TestMetadataVersion(t *testing.T) {
	t.Parallel()
	const baked = "fedcba9876543210"
	for _, test := range []struct {
		name, forced, packs string // packs: the versions of two packs, "" none
		second              string
		want                string
		fault               string
	}{
		{"none", "", "", "", "", ""},
		{"of a pack", "", baked, "", baked, ""},
		{"of two that agree", "", baked, baked, baked, ""},
		{"of two that differ", "", baked, "0000000000000000", "", "they were baked apart: publish packs that were baked together"},
		{"forced", "mine", "", "", "mine", ""},
		{"forced over a pack", "mine", baked, "", "mine", ""},
		{"forced over packs that differ", "mine", baked, "0000000000000000", "mine", ""},
	} {
		for _, inMemory := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				files := servertest.Files()
				for name, version := range map[string]string{"A": test.packs, "B": test.second} {
					if version != "" {
						files["Resources/"+name+".zip"] = metadataPack(t, version)
					}
				}
				set := config.ForFolder(servertest.WriteFolder(t, files), servertest.Compatibility)
				set.ServerNetwork.UpdateFilesInMemory, set.Network.ForceMetadataVersion = inMemory, test.forced
				if test.fault != "" {
					_, err := catalogue.Open(t.Context(), set, servertest.New().Logger())
					if err == nil || !strings.Contains(err.Error(), test.fault) {
						t.Errorf("%v, want %q", err, test.fault)
					}
					return
				}
				h := servertest.Start(t, set)
				for _, sent := range []string{"", baked, "mine"} {
					p := h.Dial(t, netproto.G2b)
					m := servertest.Handshake(netproto.G2b)
					m.Metadata = sent
					answer, files := p.Greet(m)
					if answer.Metadata != test.want || answer.MetadataOutdated != (sent != "" && sent != test.want) || answer.CompatibilityOutdated || len(files) == 0 {
						t.Errorf("to %q: %+v, %d files", sent, answer, len(files))
					}
				}
				if match := strings.Contains(h.Log.String(), "Client data packs match: metadata version"); match != (test.packs != "" && test.forced == "") {
					t.Errorf("packs match: %v", match)
				}
				if test.name == "forced over a pack" {
					h.Log.Has(t, "warn", "Metadata version", "mine", baked)
				}
			})
		}
	}
}

// TestEngineAnswersApart checks that each of an engine's booleans tells its own comparison.
func TestEngineAnswersApart(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Network.ForceMetadataVersion = "served"
	h := servertest.Start(t, set)
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		for bits := range 8 {
			m := servertest.Handshake(g)
			compat, updater, metadata := bits&1 != 0, bits&2 != 0, bits&4 != 0
			if compat {
				m.Compatibility = "compat-B"
			}
			if updater {
				m.Version += 7
			}
			if metadata {
				m.Metadata = "another"
			}
			p := h.Dial(t, g)
			p.Send(m)
			answer := servertest.Next[*netproto.HandshakeAnswer](p)
			if answer.CompatibilityOutdated != compat || answer.UpdaterOutdated != updater || answer.MetadataOutdated != (metadata && g.Metadata()) {
				t.Errorf("%v %03b: %+v", g, bits, answer)
			}
			if updater {
				servertest.Next[*netproto.Disconnect](p)
			} else {
				servertest.Next[*netproto.InitData](p)
			}
		}
	}
}
