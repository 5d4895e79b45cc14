package area_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"collet/runtime/area"
)

func TestRead(t *testing.T) {
	zip := "\x03\x00\x00\x00zip" + strings.Repeat("#", 9_993)
	text := "a = 1\n" + strings.Repeat("#", 94)
	label := "Lathe" + strings.Repeat("\x00", 123)
	asBuilt := [3]string{resources(10_000), config(100), name()}
	filled := [3]string{zip, text, label}
	change := func(set [3]string, i int, to string) [3]string { set[i] = to; return set }
	tests := map[string]struct {
		set      [3]string
		packaged bool
		kind     area.Kind
		err      error
	}{
		"as built":                  {asBuilt, false, "", nil},
		"filled":                    {filled, true, "", nil},
		"no resources wanted":       {change(filled, 0, "\x00\x00\x00\x00"+strings.Repeat("#", 9_996)), true, "", nil},
		"no settings wanted":        {change(filled, 1, strings.Repeat("#", 100)), true, "", nil},
		"config with a heading":     {change(filled, 1, "###Packaged### 6 Lathe\na = 1\n"+strings.Repeat("#", 71)), true, "", nil},
		"heading that lies":         {change(filled, 1, "###Packaged### 9 Lathe\na = 1\n"), true, "", nil},
		"config left out":           {change(filled, 1, asBuilt[1]), false, area.Config, area.ErrPartly},
		"name left out":             {change(filled, 2, asBuilt[2]), false, area.Name, area.ErrPartly},
		"resources left out":        {change(filled, 0, asBuilt[0]), false, area.Resources, area.ErrPartly},
		"only a name":               {change(asBuilt, 2, label), false, area.Resources, area.ErrPartly},
		"resources longer than all": {change(filled, 0, "\xff\xff\xff\xffzip"), false, area.Resources, area.ErrDamaged},
		"resources cut off":         {change(filled, 0, "\x00\x00"), false, area.Resources, area.ErrDamaged},
		"resources by one too long": {change(filled, 0, "\x04\x00\x00\x00zip"), false, area.Resources, area.ErrDamaged},
		"config of no text":         {change(filled, 1, "a = \xff"), false, area.Config, area.ErrDamaged},
		"config with a zero":        {change(filled, 1, "a\x00"), false, area.Config, area.ErrDamaged},
		"name without an end":       {change(filled, 2, strings.Repeat("n", 128)), false, area.Name, area.ErrDamaged},
		"empty name":                {change(filled, 2, strings.Repeat("\x00", 128)), false, area.Name, area.ErrDamaged},
		"something behind the name": {change(filled, 2, "Lathe\x00x"+strings.Repeat("\x00", 121)), false, area.Name, area.ErrDamaged},
		"name of two lines":         {change(filled, 2, "a\nb"+strings.Repeat("\x00", 125)), false, area.Name, area.ErrDamaged},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			c, packaged, err := area.Set{Resources: []byte(test.set[0]), Config: []byte(test.set[1]), Name: []byte(test.set[2])}.Read()
			if packaged != test.packaged || !errors.Is(err, test.err) {
				t.Fatalf("got %v, %v; want %v, %v", packaged, err, test.packaged, test.err)
			}
			if e := new(area.Error); err != nil && (!errors.As(err, &e) || e.Kind != test.kind) {
				t.Errorf("%v does not blame %q", err, test.kind)
			}
			if title == "filled" && (string(c.Resources) != "zip" || c.Config != "a = 1\n" || c.Name != "Lathe") {
				t.Errorf("got %+v", c)
			}
			if !packaged && (c.Resources != nil || c.Config != "" || c.Name != "") {
				t.Errorf("contents %+v of what is not packaged", c)
			}
		})
	}
}

// FuzzRead: any bytes of areas are read or refused, and nothing that is given back was not there.
func FuzzRead(f *testing.F) {
	f.Add([]byte(resources(10_000)), []byte(config(60)), []byte(name()))
	f.Add([]byte("\x01\x00\x00\x00z###"), []byte("a = 1 ###"), []byte("Lathe\x00\x00"))
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, resources, config, name []byte) {
		c, packaged, err := area.Set{Resources: resources, Config: config, Name: name}.Read()
		if err != nil && packaged {
			t.Error("packaged, and an error")
		}
		if !bytes.Contains(resources, c.Resources) || !strings.Contains(string(config), c.Config) || !strings.HasPrefix(string(name), c.Name) {
			t.Errorf("made up: %+v", c)
		}
		if packaged != (c.Name != "") || len(c.Name) > len(name) || !utf8.ValidString(c.Config) {
			t.Errorf("packaged %v with %+v", packaged, c)
		}
	})
}

// FuzzPatch: a program is filled as a whole or left alone, keeps its size and everything around its areas, gives back what
// was put in, and is not filled twice.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("before"), []byte("between"), []byte("PK"), "a = 1\n", "Lathe")
	f.Add([]byte(configStart), []byte(unnamed), []byte(resources(10_000)), configEnd, unnamed)
	f.Add([]byte{0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 1}, []byte{}, []byte{}, "#", strings.Repeat("n", 127))
	f.Fuzz(func(t *testing.T, before, between, zip []byte, text, label string) {
		p := []byte(string(before) + resources(10_000) + string(between) + config(100) + string(between) + name())
		original := bytes.Clone(p)
		err := area.Patch(p, area.Contents{Resources: zip, Config: text, Name: label})
		if len(p) != len(original) {
			t.Fatal("the size changed")
		}
		if err != nil {
			if !bytes.Equal(p, original) {
				t.Error("refused and changed")
			}
			return
		}
		where := find(t, original)
		got := readBack(t, p, where)
		if !bytes.Equal(got.Resources, zip) || got.Config != text || got.Name != label {
			t.Errorf("put in %q, %q, %q; read %+v", zip, text, label, got)
		}
		for _, a := range where {
			copy(p[a.Offset:], original[a.Offset:a.Offset+a.Capacity])
		}
		if !bytes.Equal(p, original) {
			t.Error("something beside the areas changed")
		}
	})
}

// FuzzFind: what is found in any bytes lies inside them and is an area.
func FuzzFind(f *testing.F) {
	f.Add([]byte(config(60) + name()))
	f.Add([]byte(configStart + "9" + configEnd[:4]))
	f.Add([]byte(unnamed))
	f.Add([]byte("###Packaged### 3 Lathe\na=1#"))
	f.Fuzz(func(t *testing.T, program []byte) {
		if name, config, packaged := area.Packaged(program); packaged && !strings.Contains(string(program), " "+name+"\n"+config) {
			t.Errorf("made up: %q, %q", name, config)
		}
		for _, kind := range area.Kinds {
			a, err := area.Find(program, kind)
			if err != nil {
				continue
			}
			if a.Offset < 0 || a.Capacity <= 0 || a.Offset+a.Capacity > len(program) {
				t.Fatalf("%+v in %d bytes", a, len(program))
			}
		}
	})
}
