package host

import (
	"archive/zip"
	"bytes"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/assets"
	"collet/runtime/area"
)

// packedWith is a program that packaging put this into.
func packedWith(config string, resources []byte) packed {
	return packed{area.Contents{Name: "Lathe_OpenGL", Config: config, Resources: resources}}
}

// TestPackedSettings: the file beside the program overrides the packaged settings.
func TestPackedSettings(t *testing.T) {
	inside := "ClientNetwork.ServerHost = \"play.example\"\nClient.Title = \"The Lathe\"\nForceOpenGL = 1\n"
	for title, test := range map[string]struct {
		packed      packed
		file        string
		server, end string // end: the title and the settings of the game
		says        string
	}{
		"nothing":                      {packed{}, "", "127.0.0.1:4000", "|map[]", ""},
		"a file":                       {packed{}, "Client.Title = \"Mine\"\nForceOpenGL = 0", "127.0.0.1:4000", "Mine|map[ForceOpenGL:0]", ""},
		"packaged, no file":            {packedWith(inside, nil), "", "play.example:4000", "The Lathe|map[]", ""},
		"packaged, a file":             {packedWith(inside, nil), "Client.Title = \"Mine\"\nForceOpenGL = 0", "play.example:4000", "Mine|map[ForceOpenGL:0]", ""},
		"packaged with nothing":        {packedWith("", nil), "", "127.0.0.1:4000", "|map[]", ""},
		"a fault inside":               {packedWith("\nClient.Titel = 1", nil), "", "", "", "internal config:2: Client.Titel"},
		"a fault inside, not packaged": {packed{area.Contents{Config: "Client.Titel = 1"}}, "", "127.0.0.1:4000", "|map[]", ""},
		"a fault in the file":          {packedWith(inside, nil), "Client.Titel = 1", "", "", "Lathe.toml:1: Client.Titel"},
	} {
		t.Run(title, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "Lathe.toml")
			if test.file != "" {
				putFile(t, name, []byte(test.file))
			}
			s, err := test.packed.settings(name)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%v, want %q", err, test.says)
			}
			if err != nil {
				return
			}
			title, _, _ := strings.Cut(test.end, "|")
			if s.Server() != test.server || s.Client.Title != title || test.end != title+"|"+gameText(s.Game) {
				t.Errorf("%s, %q, %v", s.Server(), s.Client.Title, s.Game)
			}
		})
	}
}

// gameText writes settings of the game as the tables of tests have them.
func gameText(game map[string]string) string {
	var pairs []string
	for key, value := range game {
		pairs = append(pairs, key+":"+value)
	}
	slices.Sort(pairs)
	return "map[" + strings.Join(pairs, " ") + "]"
}

func TestPackedArgs(t *testing.T) {
	game := map[string]string{"ForceOpenGL": "1", "Speed": "1.5", "A": ""}
	want := []string{"--packaged", "Lathe_OpenGL", "--A", "", "--ForceOpenGL", "1", "--Speed", "1.5"}
	if got := packedArgs(packedWith("", nil), game); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := packedArgs(packed{}, nil); len(got) != 0 {
		t.Errorf("not packaged: %q", got)
	}
}

// TestThisProgramIsNotPackaged: the tests' own program is as its build left it.
func TestThisProgramIsNotPackaged(t *testing.T) {
	if p, err := readPacked(); err != nil || p.on() || p.Config != "" || p.Resources != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// zipOf is a zip with one file.
func zipOf(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sheet is a picture of one colour.
func sheet(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPackedPictures: valid pictures are used; others are logged and left out.
func TestPackedPictures(t *testing.T) {
	good := sheet(t, 64, 36)
	for title, test := range map[string]struct {
		resources []byte
		used      bool
		says      string // in the log; empty: nothing
	}{
		"none":            {nil, false, ""},
		"other files":     {zipOf(t, "other.png", good), false, ""},
		"a picture":       {zipOf(t, splashEntry, good), true, ""},
		"the usual one":   {zipOf(t, splashEntry, assets.SplashPNG), true, ""},
		"as large as may": {zipOf(t, splashEntry, sheet(t, maxSide, maxSide)), true, ""},
		"too wide":        {zipOf(t, splashEntry, sheet(t, maxSide+1, 1)), false, "a side has at most"},
		"too high":        {zipOf(t, splashEntry, sheet(t, 1, maxSide+1)), false, "a side has at most"},
		"cut off":         {zipOf(t, splashEntry, good[:len(good)/2]), false, "not enough pixel data"},
		"no picture":      {zipOf(t, splashEntry, []byte("GIF89a, and more")), false, "not a PNG"},
		"too many bytes":  {zipOf(t, splashEntry, make([]byte, maxPicture+1)), false, "more than"},
		"no zip":          {[]byte("PK, but no more"), false, "embedded resources"},
		"a broken zip":    {zipOf(t, splashEntry, good)[5:], false, "packaged picture not used"},
	} {
		t.Run(title, func(t *testing.T) {
			var log bytes.Buffer
			h := hostWith(setup{log: zerolog.New(&log), packed: packedWith("", test.resources)})
			if picture := h.packed.picture(h.log); (picture != nil) != test.used {
				t.Errorf("used: %t", picture != nil)
			}
			if said := log.String(); (said != "") != (test.says != "") || !strings.Contains(said, test.says) {
				t.Errorf("the log says %q, want %q", said, test.says)
			}
			if icon := h.packed.icon(h.log); icon != nil {
				t.Error("an icon that is not there")
			}
		})
	}
	h := hostWith(setup{log: zerolog.Nop(), packed: packedWith("", zipOf(t, iconEntry, assets.IconPNG))})
	if !bytes.Equal(h.packed.icon(h.log), assets.IconPNG) || h.packed.picture(h.log) != nil {
		t.Error("the icon is not used, or taken for the picture")
	}
}

// TestPackedRoot: the root of trust that packaging put in is used, unless a file is named.
func TestPackedRoot(t *testing.T) {
	folder := t.TempDir()
	putFile(t, filepath.Join(folder, "root.json"), []byte("file"))
	for _, test := range []struct{ inside, beside, flag, want string }{
		{"", "", "", string(assets.TrustedRoot())},
		{`Release.Root = '{"in": 1}'`, "", "", `{"in": 1}`},
		{`Release.Root = '{"in": 1}'`, `Release.TrustedRoot = "root.json"`, "", "file"},
		{`Release.Root = '{"in": 1}'`, `Release.Root = '{"file": 1}'`, "", `{"file": 1}`},
		{`Release.Root = '{"in": 1}'`, "", filepath.Join(folder, "root.json"), "file"},
	} {
		beside := filepath.Join(t.TempDir(), "Lathe.toml")
		putFile(t, beside, []byte(test.beside))
		set, err := packedWith(test.inside, nil).settings(beside)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := trustedRoot(Options{TrustedRoot: test.flag}, set, folder); err != nil || string(got) != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
