package netproto_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// Two builds: the server's, with the hashes of docs/COMPATIBILITY.md, "What is hashed", and a client's whose Camera was
// declared differently.
const (
	cameraHash  = 0xa64fc12a8e0c1b84
	cameraOther = 0xdf1301673469e89d
	walletHash  = 0x344f237d92ca82f0
	serverSet   = 0x4c37681f163b1204
	clientSet   = 0x536c49c90dc3ebf0
)

// serverManifest is what a developer's server shows.
func serverManifest() *compat.Manifest {
	return &compat.Manifest{
		Mode:  compat.ManifestFull,
		Build: compat.Build{Logic: 7, Components: serverSet, Time: 1772460300, Seq: 841, ID: "9f31c2e", Branch: "main"},
		Entries: []compat.Entry{
			{Name: "Camera", WireID: 1, Hash: cameraHash, ChangedAt: 1772400000},
			{Name: "Wallet", WireID: 2, Hash: walletHash, ChangedAt: 1750000000, Since: 6},
		},
	}
}

// clientManifest is what an older client shows.
func clientManifest() *compat.Manifest {
	m := serverManifest()
	m.Build = compat.Build{Logic: 7, Components: clientSet, Time: 1770802200, Seq: 812, ID: "77ab01d", Branch: "main"}
	m.Entries[0].Hash, m.Entries[0].ChangedAt = cameraOther, 1768000000
	return m
}

// fullHello says everything that a hello can.
func fullHello() netproto.HelloTags {
	return netproto.HelloTags{
		Build: clientManifest().Build, Patch: 3, Count: 2, Content: "c3ab8ff13720e8ad", Account: "player-17",
		Flags: compat.FlagDevelopment | compat.FlagManifest,
	}
}

// fullAnswer tells everything that an answer can.
func fullAnswer() netproto.AnswerTags {
	return netproto.AnswerTags{
		Reasons: compat.ReasonOf(compat.RuleTooOld) | compat.ReasonOf(compat.RuleComponents), Warnings: compat.WarnNewer,
		Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: 6, Max: 7}, Floor: 7, MinPatch: 3,
		Redirect: &compat.Endpoint{Host: "next.example", Port: 4000, TLS: true, BaseURL: "https://packs.example/8/"},
		StoreURL: "https://store.example/game", MessageKey: compat.PopupMaintenance, Message: "Back at noon.", Revision: 12,
		RetryAfter: 600, Age: compat.ClientOlder, Manifest: true, Fetch: true, Content: "packs-12", Server: serverManifest().Build,
	}
}

// helloTail is the tail of a hello that says t.
func helloTail(tb testing.TB, t netproto.HelloTags) netproto.Tags {
	tb.Helper()
	h := new(netproto.Handshake)
	if err := h.Say(t); err != nil {
		tb.Fatal(err)
	}
	return h.Tags
}

// answerTail is the tail of an answer that tells t.
func answerTail(tb testing.TB, t netproto.AnswerTags) netproto.Tags {
	tb.Helper()
	a := new(netproto.HandshakeAnswer)
	if err := a.Tell(t); err != nil {
		tb.Fatal(err)
	}
	return a.Tags
}

// readHello is what a server reads of a hello of C1 with a tail.
func readHello(tb testing.TB, tail netproto.Tags) (*netproto.Handshake, error) {
	tb.Helper()
	body := "\x01\x00\x4c\x43\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + string(tail)
	m, err := serverConn(rawFrame(netproto.IDHandshake, body), nil).Read()
	if err != nil {
		return nil, err
	}
	return m.(*netproto.Handshake), nil
}

// readAnswer is what a client reads of an answer of C1 with a tail.
func readAnswer(tb testing.TB, tail netproto.Tags) (*netproto.HandshakeAnswer, error) {
	tb.Helper()
	body := "\x01\x00\x4c\x43\x01\x00\x00\x00\x00\x0b\x00\x04\x00\x00\x04\x00\x00\x00\x00\x00" + string(tail)
	m, err := clientConn(tb, netproto.C1, rawFrame(netproto.IDHandshakeAnswer, body), nil).Read()
	if err != nil {
		return nil, err
	}
	return m.(*netproto.HandshakeAnswer), nil
}

// numbers lists the tags of a tail.
func numbers(tail netproto.Tags) (all []uint16) {
	for number := range tail.All() {
		all = append(all, number)
	}
	return all
}

// TestHelloTags says each thing alone, all of them, and nothing, and has it read on the other side.
func TestHelloTags(t *testing.T) {
	none := compat.NoLogic
	tests := []struct {
		name string
		said netproto.HelloTags
		want []uint16
	}{
		{"nothing", netproto.HelloTags{Build: compat.Build{Logic: none}}, nil},
		{"logic version", netproto.HelloTags{Build: compat.Build{Logic: 7}}, []uint16{1}},
		{"logic version 0", netproto.HelloTags{}, []uint16{1}},
		{"a negative one", netproto.HelloTags{Build: compat.Build{Logic: -5}}, []uint16{1}},
		{"the largest", netproto.HelloTags{Build: compat.Build{Logic: math.MaxInt32}}, []uint16{1}},
		{"patch", netproto.HelloTags{Build: compat.Build{Logic: none}, Patch: 1 << 31}, []uint16{2}},
		{"components", netproto.HelloTags{Build: compat.Build{Logic: none, Components: clientSet}}, []uint16{3}},
		{"count", netproto.HelloTags{Build: compat.Build{Logic: none}, Count: 4096}, []uint16{4}},
		{"time", netproto.HelloTags{Build: compat.Build{Logic: none, Time: -1}}, []uint16{5}},
		{"number", netproto.HelloTags{Build: compat.Build{Logic: none, Seq: math.MaxUint64}}, []uint16{6}},
		{"id", netproto.HelloTags{Build: compat.Build{Logic: none, ID: strings.Repeat("i", compat.MaxBuildID)}}, []uint16{7}},
		{"branch", netproto.HelloTags{Build: compat.Build{Logic: none, Branch: strings.Repeat("b", compat.MaxBranch)}}, []uint16{8}},
		{"content", netproto.HelloTags{Build: compat.Build{Logic: none}, Content: strings.Repeat("c", netproto.MaxContent)}, []uint16{9}},
		{"account", netproto.HelloTags{Build: compat.Build{Logic: none}, Account: strings.Repeat("a", netproto.MaxAccount)}, []uint16{10}},
		{"flags", netproto.HelloTags{Build: compat.Build{Logic: none}, Flags: 1 << 31}, []uint16{11}},
		{"everything", fullHello(), []uint16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tail := helloTail(t, test.said)
			if got := numbers(tail); !slices.Equal(got, test.want) {
				t.Errorf("tags %v, want %v", got, test.want)
			}
			h, err := readHello(t, tail)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Said(); got != test.said {
				t.Errorf("said %+v, want %+v", got, test.said)
			}
			if got := h.Hello(netproto.C1).Tagged; got != (len(test.want) > 0) {
				t.Errorf("tagged %t", got)
			}
		})
	}
}

// TestAnswerTags tells each thing alone, all of them, and nothing, and has it read on the other side.
func TestAnswerTags(t *testing.T) {
	tell := func(change func(*netproto.AnswerTags)) netproto.AnswerTags {
		a := netproto.AnswerTags{Server: compat.Build{Logic: compat.NoLogic}}
		change(&a)
		return a
	}
	tests := []struct {
		name string
		told netproto.AnswerTags
		want []uint16
	}{
		{"nothing", tell(func(*netproto.AnswerTags) {}), nil},
		{"reasons", tell(func(a *netproto.AnswerTags) { a.Reasons = 0x7FF }), []uint16{3}},
		{"warnings", tell(func(a *netproto.AnswerTags) { a.Warnings = 7 }), []uint16{4}},
		{"ranges", tell(func(a *netproto.AnswerTags) {
			a.Versioned, a.Supported, a.Active = true, compat.Range{Min: 0, Max: math.MaxInt32}, compat.Range{Min: 6, Max: 6}
		}), []uint16{5, 6}},
		{"floor", tell(func(a *netproto.AnswerTags) { a.Floor = 7 }), []uint16{7}},
		{"least patch", tell(func(a *netproto.AnswerTags) { a.MinPatch = 3 }), []uint16{8}},
		{"redirect without packs", tell(func(a *netproto.AnswerTags) { a.Redirect = &compat.Endpoint{Host: "h", Port: 1} }), []uint16{9}},
		{"store", tell(func(a *netproto.AnswerTags) { a.StoreURL = strings.Repeat("s", 2048) }), []uint16{10}},
		{"message", tell(func(a *netproto.AnswerTags) {
			a.MessageKey, a.Message = compat.PopupStore, strings.Repeat("m", 16<<10)
		}), []uint16{11}},
		{"revision", tell(func(a *netproto.AnswerTags) { a.Revision = math.MaxUint64 }), []uint16{12}},
		{"retry", tell(func(a *netproto.AnswerTags) { a.RetryAfter = 1 }), []uint16{13}},
		{"age", tell(func(a *netproto.AnswerTags) { a.Age = compat.AgeSame }), []uint16{14}},
		{"manifest", tell(func(a *netproto.AnswerTags) { a.Manifest = true }), []uint16{15}},
		{"fetch", tell(func(a *netproto.AnswerTags) { a.Fetch = true }), []uint16{16}},
		{"packs", tell(func(a *netproto.AnswerTags) { a.Content = strings.Repeat("c", netproto.MaxContent) }), []uint16{17}},
		{"server's logic version", tell(func(a *netproto.AnswerTags) { a.Server.Logic = 0 }), []uint16{20}},
		{"server's build", tell(func(a *netproto.AnswerTags) { a.Server = serverManifest().Build }), []uint16{20, 21, 22, 23, 24, 25}},
		{"everything", fullAnswer(), []uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tail := answerTail(t, test.told)
			if got := numbers(tail); !slices.Equal(got, test.want) {
				t.Errorf("tags %v, want %v", got, test.want)
			}
			a, err := readAnswer(t, tail)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Told(); !reflect.DeepEqual(got, test.told) {
				t.Errorf("told %+v, want %+v", got, test.told)
			}
		})
	}
}

// TestT4KnownTagsAreStrict cuts every tag short, makes it longer, and repeats it, one after the other, in both directions.
func TestT4KnownTagsAreStrict(t *testing.T) {
	reads := []struct {
		name string
		full netproto.Tags
		id   netproto.MessageID
		read func(netproto.Tags) error
	}{
		{"hello", helloTail(t, fullHello()), netproto.IDHandshake, func(tail netproto.Tags) error { _, err := readHello(t, tail); return err }},
		{"answer", answerTail(t, fullAnswer()), netproto.IDHandshakeAnswer, func(tail netproto.Tags) error { _, err := readAnswer(t, tail); return err }},
	}
	texts := map[string][]uint16{"hello": {7, 8, 9, 10}, "answer": {10, 17, 24, 25}} // they may have any length up to their cap
	for _, r := range reads {
		if err := r.read(r.full); err != nil {
			t.Fatal(err)
		}
		for number, value := range r.full.All() {
			t.Run(fmt.Sprintf("%s %d", r.name, number), func(t *testing.T) {
				text := slices.Contains(texts[r.name], number)
				if !text {
					wantFault(t, r.read(r.full.With(number, value[:len(value)-1])), r.id, fmt.Sprintf("tag %d", number))
					wantFault(t, r.read(r.full.With(number, nil)), r.id, fmt.Sprintf("tag %d", number))
					wantFault(t, r.read(r.full.With(number, append(bytes.Clone(value), 0))), r.id, "left over")
				}
				wantFault(t, r.read(r.full.With(number, make([]byte, 12<<10))), r.id, fmt.Sprintf("tag %d", number))
				twice := append(bytes.Clone(r.full), binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(nil, number), uint32(len(value)))...)
				wantFault(t, r.read(append(twice, value...)), r.id, "repeated")
			})
		}
	}
}

// TestT4UnknownTagsAreSkipped puts unknown tags before, between and behind the others.
func TestT4UnknownTagsAreSkipped(t *testing.T) {
	for _, unknown := range []uint16{0, 12, 19, 26, 27, 28, 29, 300, math.MaxUint16} {
		h, err := readHello(t, helloTail(t, fullHello()).With(unknown, []byte("later")))
		if err != nil || h.Said() != fullHello() {
			t.Errorf("hello with tag %d: %+v, %v", unknown, h, err)
		}
	}
	for _, unknown := range []uint16{0, 1, 2, 18, 19, 26, 29, 300, math.MaxUint16} {
		a, err := readAnswer(t, answerTail(t, fullAnswer()).With(unknown, []byte("later")))
		if err != nil || !reflect.DeepEqual(a.Told(), fullAnswer()) {
			t.Errorf("answer with tag %d: %+v, %v", unknown, a, err)
		}
	}
}

// TestHalfARange tells one range without the other, which says nothing.
func TestHalfARange(t *testing.T) {
	for _, tag := range []uint16{netproto.TagSupported, netproto.TagActive} {
		value, _ := answerTail(t, fullAnswer()).Get(tag)
		a, err := readAnswer(t, netproto.Tags{}.With(tag, value))
		if err != nil {
			t.Fatal(err)
		}
		if told := a.Told(); told.Versioned || told.Supported != (compat.Range{}) || told.Active != (compat.Range{}) {
			t.Errorf("tag %d alone tells %+v", tag, told)
		}
	}
}

// TestTagValues covers values that have their size and are wrong all the same.
func TestTagValues(t *testing.T) {
	rangeOf := func(from, to int32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(from)), uint32(to))
	}
	tests := []struct {
		name, text string
		tag        uint16
		value      string
	}{
		{"a bool of 2", "0 or 1", netproto.TagManifest, "\x02"},
		{"supported range upside down", "ends at 5", netproto.TagSupported, string(rangeOf(6, 5))},
		{"active range upside down", "ends at -2", netproto.TagActive, string(rangeOf(-1, -2))},
		{"no host", "leads nowhere", netproto.TagRedirect, "\x00\x00\x00\x00\xa0\x0f\x00\x00\x00\x00\x00"},
		{"no port", "leads nowhere", netproto.TagRedirect, "\x01\x00\x00\x00h\x00\x00\x00\x00\x00\x00\x00"},
		{"host beyond the tag", "beyond the end", netproto.TagRedirect, "\x40\x00\x00\x00h\xa0\x0f\x00\x00\x00\x00\x00"},
		{"host beyond its cap", "above the limit of 253", netproto.TagRedirect, "\xfe\x00\x00\x00" + strings.Repeat("h", 300)},
		{"host of 4 GiB", "above the limit of 253", netproto.TagRedirect, "\xff\xff\xff\xffh"},
		{"key of a message beyond its cap", "above the limit of 32", netproto.TagMessage, "\x21\x00\x00\x00" + strings.Repeat("k", 50)},
		{"message without a text", "beyond the end", netproto.TagMessage, "\x01\x00\x00\x00k"},
		{"store link beyond its cap", "2049 is above the limit of 2048", netproto.TagStoreURL, strings.Repeat("s", 2049)},
		{"build id beyond its cap", "65 is above the limit of 64", netproto.TagServerID, strings.Repeat("i", 65)},
		{"branch beyond its cap", "33 is above the limit of 32", netproto.TagServerBranch, strings.Repeat("b", 33)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAnswer(t, answerTail(t, fullAnswer()).With(test.tag, []byte(test.value)))
			wantFault(t, err, netproto.IDHandshakeAnswer, test.text)
		})
	}
	for tag, most := range map[uint16]int{netproto.TagBuildID: 64, netproto.TagBranch: 32, netproto.TagContent: 64, netproto.TagAccount: 64} {
		_, err := readHello(t, helloTail(t, fullHello()).With(tag, make([]byte, most+1)))
		wantFault(t, err, netproto.IDHandshake, fmt.Sprintf("%d is above the limit of %d", most+1, most))
	}
}

// TestOwnTagsAreChecked refuses to send what the other side would refuse to read, which is our fault and no peer's.
func TestOwnTagsAreChecked(t *testing.T) {
	var fault *netproto.FormatError
	long := strings.Repeat("x", 20<<10)
	h := &netproto.Handshake{Version: netproto.VersionC1, Tags: helloTail(t, fullHello())}
	for name, change := range map[string]func(*netproto.HelloTags){
		"build id": func(t *netproto.HelloTags) { t.Build.ID = long }, "branch": func(t *netproto.HelloTags) { t.Build.Branch = long },
		"content": func(t *netproto.HelloTags) { t.Content = long }, "account": func(t *netproto.HelloTags) { t.Account = long },
	} {
		said := fullHello()
		change(&said)
		if err := h.Say(said); err == nil || errors.As(err, &fault) || !strings.Contains(err.Error(), name) || h.Said() != fullHello() {
			t.Errorf("%s: %v, says %+v", name, err, h.Said())
		}
	}
	a := &netproto.HandshakeAnswer{Version: netproto.VersionC1, Tags: answerTail(t, fullAnswer())}
	for name, change := range map[string]func(*netproto.AnswerTags){
		"store": func(t *netproto.AnswerTags) { t.StoreURL = long }, "message": func(t *netproto.AnswerTags) { t.Message = long },
		"redirect": func(t *netproto.AnswerTags) { t.Redirect = &compat.Endpoint{Port: 1} }, "base url": func(t *netproto.AnswerTags) { t.Redirect.BaseURL = long },
		"active": func(t *netproto.AnswerTags) { t.Active.Max = 0 }, "server's branch": func(t *netproto.AnswerTags) { t.Server.Branch = long },
	} {
		told := fullAnswer()
		change(&told)
		if err := a.Tell(told); err == nil || errors.As(err, &fault) || !strings.Contains(err.Error(), name) || !reflect.DeepEqual(a.Told(), fullAnswer()) {
			t.Errorf("%s: %v, tells %+v", name, err, a.Told())
		}
	}
	a.Tags = a.Tags.With(netproto.TagAge, []byte("long"))
	if _, err := netproto.EncodeFrame(netproto.C1, 0, 0, a); err == nil || errors.As(err, &fault) {
		t.Errorf("written: %v", err)
	}
	if answer := netproto.NewAnswer(compat.Judgement{Verdict: compat.Redirect, Endpoint: &compat.Endpoint{}}); answer.Judgement(netproto.C1).Endpoint != nil {
		t.Error("an endpoint that is none travels")
	}
}

// TestTellKeepsOtherTags changes what is said of the verdict and leaves the release and later tags alone.
func TestTellKeepsOtherTags(t *testing.T) {
	a := netproto.NewAnswer(compat.Judgement{Verdict: compat.Maintenance, Rule: compat.RuleMaintenance, RetryAfter: 60, Revision: 3})
	a.Tags = a.Tags.With(netproto.TagTimestamp, []byte("{}")).With(300, []byte("x"))
	if err := a.Tell(netproto.AnswerTags{Age: compat.ClientNewer}); err != nil {
		t.Fatal(err)
	}
	if got := numbers(a.Tags); !slices.Equal(got, []uint16{14, 20, 27, 300}) {
		t.Errorf("tags %v", got)
	}
}

// TestTaggedHello is what compat.Evaluate gets to see of hellos.
func TestTaggedHello(t *testing.T) {
	own := &netproto.Handshake{Version: netproto.VersionC1, Compatibility: "L7-536c49c90dc3ebf0", Target: "Windows-win64", Tags: helloTail(t, fullHello())}
	build := fullHello().Build
	build.Compatibility = own.Compatibility
	want := compat.Hello{Build: build, Patch: 3, Target: "Windows-win64", Content: "c3ab8ff13720e8ad", Tagged: true, Flags: 3}
	if got := own.Hello(netproto.C1); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	untold := compat.Build{Logic: compat.NoLogic, Compatibility: "V"}
	tests := []struct {
		name  string
		g     netproto.Generation
		hello netproto.Handshake
		want  compat.Hello
	}{
		{"untagged", netproto.C1, netproto.Handshake{Version: netproto.VersionC1, Compatibility: "V"}, compat.Hello{Build: untold, Store: true}},
		{"a tag of no consequence", netproto.C1, netproto.Handshake{Version: netproto.VersionC1, Compatibility: "V", Tags: netproto.Tags{}.With(300, nil)}, compat.Hello{Build: untold, Store: true}},
		{"a later minor version", netproto.C1, netproto.Handshake{Version: netproto.VersionC1 + 1, Compatibility: "V"}, compat.Hello{Build: untold, Store: true, Updater: compat.UpdaterNewer}},
		{"G1", netproto.G1, netproto.Handshake{Version: 1, Compatibility: "V", Target: "Linux-x64"}, compat.Hello{Build: untold, Target: "Linux-x64"}},
		{"an older updater", netproto.G2a, netproto.Handshake{Version: 1, Compatibility: "V", Target: "Android-arm64"}, compat.Hello{Build: untold, Target: "Android-arm64", Store: true, Updater: compat.UpdaterOlder}},
		{"a newer updater", netproto.G2b, netproto.Handshake{Version: 3, Compatibility: "V", Tags: own.Tags}, compat.Hello{Build: untold, Store: true, Updater: compat.UpdaterNewer}},
	}
	for _, test := range tests {
		if got := test.hello.Hello(test.g); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
