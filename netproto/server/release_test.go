package server_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// published is a release folder with these releases. All of them have the same keys.
func published(t testing.TB, releases ...releasetest.Release) *releasetest.Folder {
	t.Helper()
	return servertest.Published(t, templates, releases...)
}

// download takes every file of a list by the requests of its generation.
func download(p *servertest.Peer, files []netproto.ListedFile) map[string]string {
	p.T.Helper()
	got := map[string]string{}
	for _, f := range files {
		var content bytes.Buffer
		for uint64(content.Len()) < f.Size {
			offset := uint64(content.Len())
			if p.Wire.Generation().Engine() {
				p.Send(&netproto.GetUpdateFile{Index: f.Index, Offset: offset})
				content.Write(servertest.Next[*netproto.UpdateFileData](p).Data)
			} else {
				p.Send(&netproto.GetRange{Request: 1, Index: f.Index, Offset: offset, Length: 1 << 20})
				content.Write(servertest.Next[*netproto.RangeData](p).Data)
			}
		}
		got[f.Path] = content.String()
	}
	return got
}

// TestPlainFilesOfEarlierPublishers are used where those lie in the release folder itself: only the pack of which targets have
// different ones is unpacked, and there is no room for more.
func TestPlainFilesOfEarlierPublishers(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	plain, err := os.ReadDir(filepath.Join(f.Dir, "plain"))
	if err != nil || len(plain) != 2 {
		t.Fatal(plain, err)
	}
	for _, e := range plain {
		if err := os.Rename(filepath.Join(f.Dir, "plain", e.Name()), filepath.Join(f.Dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	set := servertest.ReleaseSettings(f)
	set.Release.CacheSize = 16
	h := servertest.Start(t, set)
	for target, want := range releasetest.Sets(1) {
		p := h.Dial(t, netproto.G2b)
		_, files := p.Greet(servertest.HandshakeOf(netproto.G2b, "compat-0", target))
		if got := download(p, files); !maps.Equal(got, want) {
			t.Errorf("%s gets %v", target, slices.Sorted(maps.Keys(got)))
		}
		p.Raw.Close()
	}
}

// TestReleaseForEveryGeneration gives clients of every generation and target the files of the release, from plain ones and
// unpacked ones, from disk and from memory.
func TestReleaseForEveryGeneration(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for _, plain := range []bool{true, false} {
		for _, memory := range []bool{false, true} {
			t.Run(fmt.Sprintf("plain %t, memory %t", plain, memory), func(t *testing.T) {
				r := releasetest.Standard(3)
				r.Plain = plain
				f := published(t, releasetest.Standard(2), r)
				set := servertest.ReleaseSettings(f)
				set.ServerNetwork.UpdateFilesInMemory = memory
				h := servertest.Start(t, set)
				for target, want := range releasetest.Sets(3) {
					for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
						p := h.Dial(t, g)
						answer, files := p.Greet(servertest.HandshakeOf(g, "compat-2", target))
						if g == netproto.C1 && answer.Compatibility != "compat-3" || g.Engine() && !answer.CompatibilityOutdated {
							t.Errorf("%v is told %+v", g, answer)
						}
						if got := download(p, files); !maps.Equal(got, want) {
							t.Errorf("%v for %s gets %v", g, target, slices.Sorted(maps.Keys(got)))
						}
						p.Raw.Close()
					}
				}
				p := h.Dial(t, netproto.C1)
				_, files := p.Greet(servertest.HandshakeOf(netproto.C1, "compat-3", "macOS-arm64"))
				var names []string
				for _, f := range files {
					names = append(names, f.Path)
				}
				slices.Sort(names)
				if !slices.Equal(names, []string{"Core.zip", "Textures.zip"}) {
					t.Errorf("a target without a release is offered %v", names)
				}
			})
		}
	}
}

// TestObjectsOfARelease hands out everything in the folder that has a name, and nothing else.
func TestObjectsOfARelease(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for _, portion := range []int{8000, 100_000} { // copied, and by sendfile
		t.Run(fmt.Sprint(portion), func(t *testing.T) {
			f := published(t, releasetest.Standard(1), releasetest.Standard(2))
			set := servertest.ReleaseSettings(f)
			set.Network.UpdateFileMaxPortionSize = portion
			h := servertest.Start(t, set)
			p := h.Dial(t, netproto.C1)
			m := servertest.HandshakeOf(netproto.C1, "compat-2", "Linux-x64")
			m.Capabilities |= netproto.CapObjects
			if answer, _ := p.Greet(m); answer.Capabilities != netproto.CapPipeline|netproto.CapObjects {
				t.Errorf("capabilities %d", answer.Capabilities)
			}
			for name, want := range servertest.ReadFolder(t, f.Dir) {
				if got, found := servertest.FetchObject(p, name); !found || got != want {
					t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
				}
			}
			sum := strings.Repeat("ab", 32)
			for _, name := range []string{
				"metadata/2.root.json", "metadata/99.targets.json", "releases/" + sum + ".release", "objects/ab/" + sum, "Resources/Core.zip", "plain/Resources/Core.zip",
				"../" + filepath.Base(f.Dir) + "/metadata/timestamp.json", "", "metadata/", "metadata/1.root.json\x00",
			} {
				if got, found := servertest.FetchObject(p, name); found {
					t.Errorf("%q was handed out: %q", name, got)
				}
			}
		})
	}
}

// TestRangesOfObjects asks for parts that begin and end anywhere.
func TestRangesOfObjects(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	h := servertest.Start(t, servertest.ReleaseSettings(f))
	p := h.Dial(t, netproto.C1)
	m := servertest.HandshakeOf(netproto.C1, "compat-1", "Linux-x64")
	m.Capabilities |= netproto.CapObjects | netproto.CapUnlisted
	p.Send(m)
	if answer := servertest.Next[*netproto.HandshakeAnswer](p); answer.Capabilities&netproto.CapUnlisted == 0 {
		t.Fatalf("%+v", answer)
	}
	servertest.Next[*netproto.Ping](p) // and no list
	patch := strings.Repeat("patch", 20_000)
	name := release.ObjectOf([]byte(patch)).Path()
	for _, test := range []struct {
		offset uint64
		length uint32
		want   string
	}{
		{0, 1, "p"}, {1, 4, "atch"}, {7, 1000, patch[7:1007]}, {7, 1001, patch[7:1007]}, {99_999, 1, "h"}, {99_998, 500, "ch"},
		{100_000, 1, ""}, {100_000, 0, ""}, {1 << 63, 5, ""},
	} {
		p.Send(&netproto.GetObject{Request: 9, Name: name, Offset: test.offset, Length: test.length})
		if got := servertest.Next[*netproto.RangeData](p); string(got.Data) != test.want || got.Offset != test.offset || got.Request != 9 {
			t.Errorf("%d bytes from %d: %d bytes from %d", test.length, test.offset, len(got.Data), got.Offset)
		}
	}
	p.Send(&netproto.GetObject{Request: 9, Name: name, Offset: 5, Length: 0})
	if got := servertest.Next[*netproto.Refuse](p); got.Reason != netproto.RefuseMalformed || got.Request != 9 {
		t.Errorf("no bytes: %+v", got)
	}
}

// TestObjectsCountInFlight refuses a client that asks for more than it may, whichever way it asks.
func TestObjectsCountInFlight(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Limits.RequestsInFlight = 2
	h := servertest.Start(t, set)
	p := h.Dial(t, netproto.C1)
	p.Greet(servertest.HandshakeOf(netproto.C1, "compat-1", "Linux-x64"))
	// The session takes nothing while it writes, and this peer does not read.
	var many []netproto.Message
	for i := range 4000 {
		many = append(many, &netproto.GetObject{Request: uint32(2 * i), Name: "metadata/timestamp.json", Length: 1000},
			&netproto.GetRange{Request: uint32(2*i + 1), Length: 1000})
	}
	if err := p.Wire.Write(many...); err != nil {
		t.Logf("the server closed early: %v", err)
	}
	h.WaitUntil(t, func() bool { return strings.Contains(h.Log.String(), "more requests unanswered than allowed") })
}

// TestWithoutAReleaseFolder answers requests for objects like those for what is not there.
func TestWithoutAReleaseFolder(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, servertest.Settings(t))
	p := h.Dial(t, netproto.C1)
	m := servertest.Handshake(netproto.C1)
	m.Capabilities |= netproto.CapObjects | netproto.CapUnlisted
	if answer, files := p.Greet(m); answer.Capabilities != netproto.CapPipeline || len(files) == 0 {
		t.Errorf("capabilities %d, %d files", answer.Capabilities, len(files))
	}
	if _, found := servertest.FetchObject(p, "metadata/timestamp.json"); found {
		t.Error("a timestamp from nowhere")
	}
}

// TestDescriptorsOfAReleaseFolder counts the files that are open for answers over HTTP.
func TestDescriptorsOfAReleaseFolder(t *testing.T) {
	t.Parallel()
	set := servertest.ReleaseSettings(published(t, releasetest.Standard(1)))
	set.Limits.Connections, set.Limits.HTTPConnections = 100, 5000
	h := servertest.Open(t, set)
	t.Cleanup(h.Close)
	h.WarnOf(6000)
	if strings.Contains(h.Log.String(), "allows fewer open files") {
		t.Errorf("enough are too few:\n%s", h.Log)
	}
	h.WarnOf(5000)
	h.Log.Has(t, "warn", "The system allows fewer open files", `"allowed":5000`)
}
