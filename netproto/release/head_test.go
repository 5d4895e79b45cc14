package release_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"collet/netproto/release"
)

func formatFault(err error) *release.FormatError {
	var fault *release.FormatError
	errors.As(err, &fault)
	return fault
}

func pathFault(err error) *release.PathError {
	var fault *release.PathError
	errors.As(err, &fault)
	return fault
}

func isNewFormat(err error) bool { return errors.Is(err, release.ErrNewFormat) }

func TestHeadReadsBack(t *testing.T) {
	t.Parallel()
	for _, h := range []release.Head{fullHead(), smallHead()} {
		data, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := release.ParseHead(data)
		h.Patches = got.Patches // sorted by Encode; their content is compared below
		if err != nil || !reflect.DeepEqual(got, h) && len(h.Mirrors)+len(h.Patches) > 0 {
			t.Errorf("got %+v, %v\nwant %+v", got, err, h)
		}
	}
	full := fullHead()
	data, err := full.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range full.Patches {
		got, err := release.ParseHead(data)
		if o, found := got.PatchFrom(p.From); err != nil || !found || o != p.Object {
			t.Errorf("patch from %s: %v, %v, %v", p.From, o, found, err)
		}
	}
	if _, found := full.PatchFrom(sha("5")); found {
		t.Error("a patch from nowhere")
	}
}

func TestEncodeLeavesTheHeadAlone(t *testing.T) {
	t.Parallel()
	h := fullHead()
	if h.Patches[0].From.String() < h.Patches[1].From.String() {
		h.Patches[0], h.Patches[1] = h.Patches[1], h.Patches[0]
	}
	first := h.Patches[0]
	one, err1 := h.Encode()
	other, err2 := fullHead().Encode()
	if err1 != nil || err2 != nil || !bytes.Equal(one, other) || h.Patches[0] != first {
		t.Errorf("the order of patches shows: %v, %v", err1, err2)
	}
}

// replaced is the golden document with one place changed.
func replaced(t *testing.T, name, old, with string) []byte {
	t.Helper()
	data := golden(t, name)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s does not contain %s", name, old)
	}
	return bytes.Replace(data, []byte(old), []byte(with), 1)
}

var badHeads = []struct{ old, with, reason string }{
	{`{"bytes"`, ` {"bytes"`, `want "{\"bytes\":"`},
	{`{"bytes"`, `{"Bytes"`, `want "{\"bytes\":"`},
	{`{"bytes":`, `{"bytes":1,"bytes":`, `want ",\"channel\":"`}, // a key that stands twice
	{`,"channel":"stable"`, ``, `want ",\"channel\":"`},
	{`"bytes":10000000000`, `"bytes":-1`, "no plain number"},
	{`"bytes":10000000000`, `"bytes":01`, "no plain number"},
	{`"bytes":10000000000`, `"bytes":1e3`, `want ",\"channel\":"`},
	{`"bytes":10000000000`, `"bytes":1.0`, `want ",\"channel\":"`},
	{`"bytes":10000000000`, `"bytes":9007199254740992`, "no plain number"},
	{`"bytes":10000000000`, `"bytes":99999999999999999999999999999`, "no plain number"},
	{`"bytes":10000000000`, `"bytes":null`, "no plain number"},
	{`"bytes":10000000000`, `"bytes":"1"`, "no plain number"},
	{`"stable"`, `""`, "is empty"}, {`"stable"`, `".."`, "begins with a dot"}, {`"stable"`, `"-r"`, "begins with a dot or a dash"},
	{`"stable"`, `"a/b"`, "contains '/'"}, {`"stable"`, `"beta 2"`, "contains ' '"}, {`"stable"`, `stable`, "is no text"},
	{`"stable"`, `"` + strings.Repeat("x", 65) + `"`, "does not end within 64 bytes"},
	{`"stable"`, `"\u0073table"`, "escape that is not needed"}, {`"stable"`, `"st\/able"`, "escape that is not needed"},
	{`"lathe 7"`, "\"lathe\x077\"", "can't be seen"}, {`"lathe 7"`, "\"lathe\xff7\"", "not valid UTF-8"},
	{`"lathe 7"`, "\"\u202e7\"", "can't be seen"}, {`"lathe 7"`, "\"a\nb\"", "can't be seen"},
	{`"00ff"`, `"00FF"`, "not lower-case hex"}, {`"00ff"`, `"00f"`, "not lower-case hex"},
	{`"count":3`, `"count":200001`, "no plain number"},
	{`"format":1`, `"format":0`, "format 0 does not exist"},
	{`"hostABI":3`, `"hostABI":4294967296`, "no plain number"},
	{`"number":8`, `"number":0`, "number 0 does not exist"},
	{`"mirrors":["https:`, `"mirrors":["ftp:`, "no plain http"},
	{`"https://cdn.example.org/lathe"`, `"https://me:secret@example.org/"`, "no plain http"},
	{`"https://cdn.example.org/lathe"`, `"https:///lathe"`, "no plain http"},
	{`"https://cdn.example.org/lathe"`, `"https://x/?a=b"`, "no plain http"},
	{`"https://cdn.example.org/lathe"`, `"HTTPS://x/"`, "no plain http"},
	{`"https://cdn.example.org/lathe",`, `"https://cdn.example.org/lathe" ,`, `want ","`},
	{`"de":`, `"en":`, "not in order"}, {`"de":`, `"de_AT":`, "no language tag"}, {`"de":`, `"":`, "no language tag"},
	{`2026-11-21T12:00:00Z`, `2026-11-21T12:00:00+01:00`, "published"}, {`2026-11-21T12:00:00Z`, `2026-02-30T12:00:00Z`, "no time like"},
	{`2026-11-21T12:00:00Z`, `2026-11-21 12:00:00Z`, "no time like"},
	{`"sources":{"sha256":"`, `"sources":{"sha256":"A`, "64 lower-case hex digits"},
	{`"sources":{"sha256":"`, `"sources":{"sha256":"g`, "64 lower-case hex digits"},
	{`"sources":{"sha256":"`, `"sources":{"sha256":"0`, `want "\""`},
}

func TestBadHeads(t *testing.T) {
	t.Parallel()
	for _, bad := range badHeads {
		h, err := release.ParseHead(replaced(t, "head-full.json", bad.old, bad.with))
		fault := formatFault(err)
		if fault == nil || fault.Document != "head" || !strings.Contains(fault.Reason, bad.reason) {
			t.Errorf("%s → %s: %v, want %s", bad.old, bad.with, err, bad.reason)
		}
		if !reflect.DeepEqual(h, release.Head{}) {
			t.Errorf("%s → %s: refused, and still %+v", bad.old, bad.with, h)
		}
	}
}

func TestPatchesInOrderAndOnce(t *testing.T) {
	t.Parallel()
	h := fullHead()
	h.Patches = append(h.Patches, h.Patches[0])
	if data, err := h.Encode(); err == nil {
		t.Errorf("a patch that stands twice was written: %s", data)
	}
	good := string(golden(t, "head-full.json"))
	from := strings.Index(good, `"patches":[`) + len(`"patches":[`)
	list := good[from : from+strings.IndexByte(good[from:], ']')]
	half := len(list) / 2
	swapped := strings.Replace(good, list, list[half+1:]+","+list[:half], 1)
	if _, err := release.ParseHead([]byte(swapped)); formatFault(err) == nil || !strings.Contains(err.Error(), "patches are not in order") {
		t.Errorf("patches in another order: %v", err)
	}
}

// TestLaterFormat: a head of a later program is told from a broken one, whatever else it holds.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	for text, later := range map[string]bool{
		string(replaced(t, "head-full.json", `"format":1`, `"format":2`)):                true,
		string(replaced(t, "head-full.json", `"format":1`, `"flavour":"x","format":70`)): true,
		`{"format":2}`:                       true,
		`{"format":1}`:                       false,
		`{"format":-2}`:                      false,
		`{"format":2`:                        false,
		`[2]`:                                false,
		strings.Repeat("[", release.MaxHead): false,
	} {
		if _, err := release.ParseHead([]byte(text)); isNewFormat(err) != later || err == nil {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// TestUnwritableHeads: faults of the caller are not reported as a peer's.
func TestUnwritableHeads(t *testing.T) {
	t.Parallel()
	for reason, spoil := range map[string]func(*release.Head){
		"product is empty":            func(h *release.Head) { h.Product = "" },
		"version is empty":            func(h *release.Head) { h.Version = "" },
		"bytes is negative":           func(h *release.Head) { h.Bytes = -1 },
		"number 0":                    func(h *release.Head) { h.Number = 0 },
		"number is 9007199254740992":  func(h *release.Head) { h.Number = release.MaxNumber + 1 },
		"count is 200001":             func(h *release.Head) { h.Count = release.MaxSet + 1 },
		"whole second":                func(h *release.Head) { h.Published = h.Published.Add(time.Millisecond) },
		"no SHA-256":                  func(h *release.Head) { h.Sources.Sum = release.FNVDigest(1) },
		"listing size is 67108865":    func(h *release.Head) { h.Listing.Size = release.MaxListing + 1 },
		"note size is 65537":          func(h *release.Head) { h.Notes["en"] = release.Object{Sum: sha(""), Size: release.MaxNote + 1} },
		"mirrors holds more than 16":  func(h *release.Head) { h.Mirrors = make([]string, 17); fill(h.Mirrors) },
		"patches holds more than 64":  func(h *release.Head) { h.Patches = patches(65) },
		"in more than 64 languages":   func(h *release.Head) { h.Notes = notes(65) },
		"compatibility is longer":     func(h *release.Head) { h.Compatibility = strings.Repeat("c", 257) },
		"is no plain http":            func(h *release.Head) { h.Mirrors[0] = "file:///etc" },
		"published is no time like 2": func(h *release.Head) { h.Published = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		h := fullHead()
		spoil(&h)
		data, err := h.Encode()
		if reason == "published is no time like 2" && err != nil && strings.Contains(err.Error(), "published") {
			continue // five digits of a year are too long for the text
		}
		if err == nil || !strings.Contains(err.Error(), reason) || formatFault(err) != nil {
			t.Errorf("%s: %v\n%.200s", reason, err, data)
		}
	}
}

func fill(mirrors []string) {
	for i := range mirrors {
		mirrors[i] = fmt.Sprintf("https://m%d.example.org/", i)
	}
}

func patches(n int) (list []release.PatchRef) {
	for i := range n {
		list = append(list, release.PatchRef{From: sha(fmt.Sprint(i)), Object: object("patch")})
	}
	return list
}

func notes(n int) map[string]release.Object {
	m := map[string]release.Object{}
	for i := range n {
		m[fmt.Sprintf("x%d", i)] = object("note")
	}
	return m
}

// TestLargestHead: what the caps allow together fits.
func TestLargestHead(t *testing.T) {
	t.Parallel()
	h := fullHead()
	h.Patches, h.Notes, h.Mirrors = patches(release.MaxPatches), notes(release.MaxNotes), make([]string, release.MaxMirrors)
	for i := range h.Mirrors {
		h.Mirrors[i] = fmt.Sprintf("https://m%02d.example.org/%s", i, strings.Repeat("x", 480))
	}
	h.Version = strings.Repeat(`\`, 256)
	data, err := h.Encode()
	if err != nil || len(data) < 24<<10 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if _, err := release.ParseHead(data); err != nil {
		t.Error(err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	several := map[string]release.Object{"de": object("de"), "en": object("en"), "pt-BR": object("pt-BR"), "zh-Hant": object("zh-Hant")}
	exotic := map[string]release.Object{"fi": object("fi"), "eo": object("eo")}
	for _, test := range []struct {
		notes          map[string]release.Object
		language, want string
	}{
		{several, "de", "de"}, {several, "DE", "de"}, {several, "de-AT", "de"}, {several, "pt-BR", "pt-BR"}, {several, "pt-br", "pt-BR"},
		{several, "pt", "en"}, {several, "zh-Hant-TW", "zh-Hant"}, {several, "zh", "en"}, {several, "ru", "en"}, {several, "", "en"},
		{several, "de-", "de"}, {several, "-", "en"}, {exotic, "ru", "eo"}, {exotic, "fi-FI", "fi"}, {exotic, "", "eo"}, {nil, "de", ""},
	} {
		tag, note, found := release.Head{Notes: test.notes}.Note(test.language)
		if tag != test.want || found != (test.want != "") || found && note != object(test.want) {
			t.Errorf("%q: %q %v %v, want %q", test.language, tag, note, found, test.want)
		}
	}
}
