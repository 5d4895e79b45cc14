package area_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"collet/runtime/area"
)

// The text of the areas as docs/ABI.md, "Areas", has it, written out: what the package builds at run time is compared with it.
const (
	configStart = "###InternalConfig###1234"
	configEnd   = "###InternalConfigEnd###"
	unnamed     = "###NotPackaged###"
)

// resources is n bytes of the pattern.
func resources(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((i + 42) % 200)
	}
	return string(b)
}

func config(capacity int) string {
	return configStart + strings.Repeat("5", capacity-len(configStart)-len(configEnd)) + configEnd
}

func name() string { return unnamed + strings.Repeat("\x00", 128-len(unnamed)) }

// program is a file with all areas, and other bytes around them.
func program() []byte {
	return []byte("\x7fELF code " + resources(15_000) + "\x29more" + config(500) + "data" + name() + "end")
}

func contents() area.Contents {
	return area.Contents{Resources: []byte("PK a zip"), Config: "ClientNetwork.ServerHost = \"play.example\"\n", Name: "Lathe_OpenGL"}
}

func TestFind(t *testing.T) {
	tests := map[string]struct {
		program string
		kind    area.Kind
		want    area.Area // Kind is added
		err     error
	}{
		"resources, least":             {"x" + resources(10_000) + "y", area.Resources, area.Area{Offset: 1, Capacity: 10_000}, nil},
		"resources, as a rule":         {resources(200_000), area.Resources, area.Area{Capacity: 200_000}, nil},
		"resources, steps only":        {resources(14_999), area.Resources, area.Area{Capacity: 10_000}, nil},
		"resources, one step":          {resources(15_000), area.Resources, area.Area{Capacity: 15_000}, nil},
		"resources, begun before":      {resources(9_999) + resources(10_000), area.Resources, area.Area{Offset: 9_999, Capacity: 10_000}, nil},
		"resources, the first":         {"..." + resources(10_000) + "..." + resources(20_000), area.Resources, area.Area{Offset: 3, Capacity: 10_000}, nil},
		"resources, too few":           {resources(9_999), area.Resources, area.Area{}, area.ErrMissing},
		"resources, a hole":            {resources(5_000) + "!" + resources(9_000), area.Resources, area.Area{}, area.ErrMissing},
		"config":                       {"ab" + config(10_000) + "c", area.Config, area.Area{Offset: 2, Capacity: 10_000}, nil},
		"config, no digits between":    {configStart + configEnd, area.Config, area.Area{Capacity: 47}, nil},
		"config, large":                {config(40_000), area.Config, area.Area{Capacity: 40_000}, nil},
		"config, the first":            {config(50) + config(90), area.Config, area.Area{Capacity: 50}, nil},
		"config, end before start":     {configEnd + config(60), area.Config, area.Area{Offset: 23, Capacity: 60}, nil},
		"config, no end":               {configStart + "5678", area.Config, area.Area{}, area.ErrMalformed},
		"config, other things between": {configStart + "56\x0078" + configEnd, area.Config, area.Area{}, area.ErrMalformed},
		"config, in code first":        {configStart + "\x00" + config(90), area.Config, area.Area{}, area.ErrMalformed},
		"config, other digits":         {"###InternalConfig###12356" + configEnd, area.Config, area.Area{}, area.ErrMissing},
		"name":                         {"abc" + name() + "d", area.Name, area.Area{Offset: 3, Capacity: 128}, nil},
		"name, the first":              {name() + name(), area.Name, area.Area{Capacity: 128}, nil},
		"name, at the end":             {name(), area.Name, area.Area{Capacity: 128}, nil},
		"name, cut off":                {name()[:127], area.Name, area.Area{}, area.ErrMalformed},
		"name, in code first":          {unnamed + "\x00code" + name(), area.Name, area.Area{}, area.ErrMalformed},
		"nothing":                      {"", area.Name, area.Area{}, area.ErrMissing},
		"of no kind":                   {name(), "nonsense", area.Area{}, area.ErrMissing},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			got, err := area.Find([]byte(test.program), test.kind)
			if test.err == nil {
				test.want.Kind = test.kind
			}
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, test.want, test.err)
			}
			if e := new(area.Error); err != nil && (!errors.As(err, &e) || e.Kind != test.kind) {
				t.Errorf("%#v does not say which area", err)
			}
		})
	}
}

// TestLayout holds what is written to docs/ABI.md, "Areas", byte for byte.
func TestLayout(t *testing.T) {
	p := program()
	if err := area.Patch(p, contents()); err != nil {
		t.Fatal(err)
	}
	zip := string(binary.LittleEndian.AppendUint32(nil, 8)) + "PK a zip"
	text := "###Packaged### 42 Lathe_OpenGL\nClientNetwork.ServerHost = \"play.example\"\n"
	want := "\x7fELF code " + zip + strings.Repeat("#", 15_000-len(zip)) + "\x29more" +
		text + strings.Repeat("#", 500-len(text)) + "data" + "Lathe_OpenGL" + strings.Repeat("\x00", 116) + "end"
	if string(p) != want {
		t.Error("the program differs from the layout of the reference")
	}
}

func TestPatchRefuses(t *testing.T) {
	with := func(change func(*area.Contents)) area.Contents {
		c := contents()
		change(&c)
		return c
	}
	whole := string(program())
	tests := map[string]struct {
		program  string
		contents area.Contents
		kind     area.Kind
		wanted   int
		capacity int
		err      error
	}{
		"resources too long":      {whole, with(func(c *area.Contents) { c.Resources = make([]byte, 14_997) }), area.Resources, 15_001, 15_000, area.ErrTooLong},
		"config too long":         {whole, with(func(c *area.Contents) { c.Config = strings.Repeat("x", 469) }), area.Config, 501, 500, area.ErrTooLong},
		"config too long for all": {whole, with(func(c *area.Contents) { c.Config = strings.Repeat("x", area.MaxConfig+1) }), area.Config, 1_048_613, 0, area.ErrTooLong},
		"name too long":           {whole, with(func(c *area.Contents) { c.Name = strings.Repeat("x", 128) }), area.Name, 129, 128, area.ErrTooLong},
		"no name":                 {whole, with(func(c *area.Contents) { c.Name = "" }), area.Name, 1, 0, area.ErrContent},
		"name of two lines":       {whole, with(func(c *area.Contents) { c.Name = "a\nb" }), area.Name, 4, 0, area.ErrContent},
		"name with a zero":        {whole, with(func(c *area.Contents) { c.Name = "a\x00b" }), area.Name, 4, 0, area.ErrContent},
		"name of no text":         {whole, with(func(c *area.Contents) { c.Name = "a\xff" }), area.Name, 3, 0, area.ErrContent},
		"name, the marker":        {whole, with(func(c *area.Contents) { c.Name = unnamed }), area.Name, 18, 0, area.ErrContent},
		"config with a zero":      {whole, with(func(c *area.Contents) { c.Config = "\x00" }), area.Config, 31, 0, area.ErrContent},
		"config of no text":       {whole, with(func(c *area.Contents) { c.Config = "\xff" }), area.Config, 31, 0, area.ErrContent},
		"no resources":            {config(50) + name(), contents(), area.Resources, 12, 0, area.ErrMissing},
		"no config":               {resources(10_000) + name(), contents(), area.Config, 73, 0, area.ErrMissing},
		"no name area":            {resources(10_000) + config(90), contents(), area.Name, 13, 0, area.ErrMissing},
		"name of code":            {resources(10_000) + config(90) + unnamed, contents(), area.Name, 13, 0, area.ErrMalformed},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			p := []byte(test.program)
			err := area.Patch(p, test.contents)
			e := new(area.Error)
			if !errors.As(err, &e) || !errors.Is(err, test.err) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if e.Kind != test.kind || e.Wanted != test.wanted || e.Capacity != test.capacity {
				t.Errorf("blames %q, %d wanted of %d; want %q, %d, %d", e.Kind, e.Wanted, e.Capacity, test.kind, test.wanted, test.capacity)
			}
			if string(p) != test.program {
				t.Error("the program was changed")
			}
		})
	}
}

// TestLimits: exactly what fits, fits.
func TestLimits(t *testing.T) {
	p := program()
	c := area.Contents{Resources: bytes.Repeat([]byte{7}, 14_996), Config: strings.Repeat("x", 352) + "#", Name: strings.Repeat("n", 127)}
	where := find(t, p)
	if err := area.Patch(p, c); err != nil {
		t.Fatal(err)
	}
	if got := readBack(t, p, where); !bytes.Equal(got.Resources, c.Resources) || got.Config != c.Config || got.Name != c.Name {
		t.Error("what was read is not what was written")
	}
}

// TestPatchTwice: what was filled is not filled again.
func TestPatchTwice(t *testing.T) {
	p := program()
	if err := area.Patch(p, contents()); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(p)
	err := area.Patch(p, contents())
	if !errors.Is(err, area.ErrPackaged) || !strings.Contains(err.Error(), `already filled; use the program as the build leaves it: it is "Lathe_OpenGL"`) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(p, before) {
		t.Error("the program was changed")
	}
}

func TestErrorText(t *testing.T) {
	c := contents()
	c.Config = strings.Repeat("x", 469)
	got := area.Patch(program(), c).Error()
	want := "area of the internal config (501 bytes wanted, capacity 500): the content does not fit; " +
		"shorten it, or build the program with a larger capacity"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPackaged: Packaged finds the name and settings of a filled program, and rejects similar text.
func TestPackaged(t *testing.T) {
	filled := program()
	if err := area.Patch(filled, contents()); err != nil {
		t.Fatal(err)
	}
	none := contents()
	none.Config = ""
	bare := program()
	if err := area.Patch(bare, none); err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct{ program, name, config string }{
		"as built":              {string(program()), "", ""},
		"filled":                {string(filled), "Lathe_OpenGL", contents().Config},
		"filled with nothing":   {string(bare), "Lathe_OpenGL", ""},
		"behind what is none":   {"###Packaged### x ###Packaged### 1 \n" + string(filled), "Lathe_OpenGL", contents().Config},
		"two, the first":        {"###Packaged### 1 One\na###Packaged### 1 Two\nb", "One", "a"},
		"more than there is":    {"###Packaged### 2 One\na", "", ""},
		"more than may be":      {"###Packaged### 1048577 One\n" + strings.Repeat("a", area.MaxConfig+1), "", ""},
		"less than nothing":     {"###Packaged### -1 One\na", "", ""},
		"another number":        {"###Packaged### 01 One\na", "", ""},
		"no number":             {"###Packaged### x One\na", "", ""},
		"no name":               {"###Packaged### 1 \na", "", ""},
		"no end of the line":    {"###Packaged### 0 One", "", ""},
		"a name without an end": {"###Packaged### 0 " + strings.Repeat("n", 500) + "\n", "", ""},
		"no text":               {"###Packaged### 1 One\n\xff", "", ""},
		"nothing":               {"", "", ""},
	} {
		name, config, packaged := area.Packaged([]byte(test.program))
		if name != test.name || config != test.config || packaged != (test.name != "") {
			t.Errorf("%s: %q, %q, %v", title, name, config, packaged)
		}
	}
}

func TestWith(t *testing.T) {
	tests := []struct {
		config, want string
		lines        []string
	}{
		{"", "", nil},
		{"a = 1", "a = 1", nil},
		{"a = 1", "a = 1\nForceOpenGL = 1\n", []string{"ForceOpenGL = 1"}},
		{"a = 1\n", "a = 1\nb = 2\nc = 3\n", []string{"b = 2", "c = 3"}},
		{"", "b = 2\n", []string{"b = 2"}},
	}
	for _, test := range tests {
		if got := (area.Contents{Config: test.config}).With(test.lines...).Config; got != test.want {
			t.Errorf("%q with %q is %q, want %q", test.config, test.lines, got, test.want)
		}
	}
}

// find is where the areas of a program lie.
func find(t testing.TB, program []byte) []area.Area {
	t.Helper()
	var where []area.Area
	for _, kind := range area.Kinds {
		a, err := area.Find(program, kind)
		if err != nil {
			t.Fatal(err)
		}
		where = append(where, a)
	}
	return where
}

// readBack reads the areas of a filled program.
func readBack(t testing.TB, program []byte, where []area.Area) area.Contents {
	t.Helper()
	cut := func(i int) []byte { return program[where[i].Offset : where[i].Offset+where[i].Capacity] }
	c, packaged, err := area.Set{Resources: cut(0), Config: cut(1), Name: cut(2)}.Read()
	if err != nil || !packaged {
		t.Fatalf("packaged %v, %v", packaged, err)
	}
	return c
}
