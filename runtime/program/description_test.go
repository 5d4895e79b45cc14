package program_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/runtime/program"
)

// full has a value in every field.
func full() program.Description {
	return program.Description{
		Name: "Lathe <2> & \"co\"", Build: "0f3c", Compatibility: "c-7",
		Program: "bin/lathe.x86_64", Args: []string{"--data", `C:\a "b"`}, Env: map[string]string{"SDL_VIDEODRIVER": "x11", "B": ""},
		Folder: "bin", Wrapper: []string{"gamemoderun"},
		Ready: program.Ready{Window: true, Seconds: 20}, Exit: program.Exit{Clean: []int64{0, 3}, Reload: []int64{75}},
		Keep: []program.Kept{{Path: "config/settings.ini", New: true}, {Path: "mods/readme.txt"}},
	}
}

const fullText = `{"args":["--data","C:\\a \"b\""],"build":"0f3c","compatibility":"c-7","env":{"B":"","SDL_VIDEODRIVER":"x11"},` +
	`"exit":{"clean":[0,3],"reload":[75]},"folder":"bin","format":1,"keep":[{"new":true,"path":"config/settings.ini"},` +
	`{"new":false,"path":"mods/readme.txt"}],"name":"Lathe <2> & \"co\"","program":"bin/lathe.x86_64",` +
	`"ready":{"seconds":20,"window":true},"wrapper":["gamemoderun"]}`

// least has what no description can do without.
func least() program.Description {
	return program.Description{Name: "Lathe", Build: "00", Program: "lathe", Ready: program.Ready{Seconds: 1}}
}

const leastText = `{"args":[],"build":"00","compatibility":"","env":{},"exit":{"clean":[],"reload":[]},"folder":"","format":1,` +
	`"keep":[],"name":"Lathe","program":"lathe","ready":{"seconds":1,"window":false},"wrapper":[]}`

// TestDescriptionForm has the written form of descriptions. Installed clients read it: a change needs a new format number.
func TestDescriptionForm(t *testing.T) {
	for _, test := range []struct {
		d    program.Description
		text string
	}{{full(), fullText}, {least(), leastText}} {
		data, err := test.d.Encode()
		if err != nil || string(data) != test.text {
			t.Errorf("written: %s\n%v\nwant %s", data, err, test.text)
		}
		if d, err := program.Parse([]byte(test.text)); err != nil || !reflect.DeepEqual(d, test.d) {
			t.Errorf("read: %+v, %v\nwant %+v", d, err, test.d)
		}
	}
}

// TestOtherForms: a description has one form only.
func TestOtherForms(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":           "",
		"a space":           strings.Replace(leastText, ":[]", ": []", 1),
		"a line end":        leastText + "\n",
		"another order":     `{"build":"00","args":[]` + strings.TrimPrefix(leastText, `{"args":[],"build":"00"`),
		"an unknown key":    strings.Replace(leastText, `,"format"`, `,"fool":1,"format"`, 1),
		"a key in capitals": strings.Replace(leastText, `"folder"`, `"Folder"`, 1),
		"a key twice":       strings.Replace(leastText, `"folder":""`, `"folder":"","folder":""`, 1),
		"a missing key":     strings.Replace(leastText, `"folder":"",`, ``, 1),
		"null":              strings.Replace(leastText, `"args":[]`, `"args":null`, 1),
		"an escaped text":   strings.Replace(leastText, `"Lathe"`, `"\u004cathe"`, 1),
		"a fraction":        strings.Replace(leastText, `"seconds":1`, `"seconds":1.0`, 1),
		"format 0":          strings.Replace(leastText, `"format":1`, `"format":0`, 1),
		"too long":          strings.Replace(leastText, `"name"`, strings.Repeat(" ", program.MaxDescription)+`"name"`, 1),
	} {
		if d, err := program.Parse([]byte(text)); err == nil {
			t.Errorf("%s: accepted as %+v", name, d)
		}
	}
	later := strings.Replace(leastText, `"format":1`, `"format":2,"fps":60`, 1)
	if _, err := program.Parse([]byte(later)); !errors.Is(err, release.ErrNewFormat) {
		t.Errorf("format 2: %v", err)
	}
}

// TestCheck has one fault of each kind and the field that it names.
func TestCheck(t *testing.T) {
	long := strings.Repeat("x", program.MaxText+1)
	many := make([]string, program.MaxArgs+1)
	for name, test := range map[string]struct {
		change func(d *program.Description)
		field  string
	}{
		"no name":                {func(d *program.Description) { d.Name = "" }, "name"},
		"line end in the name":   {func(d *program.Description) { d.Name = "a\nb" }, "name"},
		"not UTF-8":              {func(d *program.Description) { d.Name = "\xff" }, "name"},
		"long name":              {func(d *program.Description) { d.Name = long }, "name"},
		"no build":               {func(d *program.Description) { d.Build = "" }, "build"},
		"build not hex":          {func(d *program.Description) { d.Build = "xyz" }, "build"},
		"build in capitals":      {func(d *program.Description) { d.Build = "AB" }, "build"},
		"long build":             {func(d *program.Description) { d.Build = strings.Repeat("0", program.MaxBuild+1) }, "build"},
		"long compatibility":     {func(d *program.Description) { d.Compatibility = long }, "compatibility"},
		"no program":             {func(d *program.Description) { d.Program = "" }, "program"},
		"program above":          {func(d *program.Description) { d.Program = "../sh" }, "program"},
		"absolute program":       {func(d *program.Description) { d.Program = "/bin/sh" }, "program"},
		"program with backslash": {func(d *program.Description) { d.Program = `bin\a.exe` }, "program"},
		"folder above":           {func(d *program.Description) { d.Folder = ".." }, "folder"},
		"long argument":          {func(d *program.Description) { d.Args = []string{long} }, "args"},
		"zero byte":              {func(d *program.Description) { d.Args = []string{"a\x00b"} }, "args"},
		"line separator":         {func(d *program.Description) { d.Args = []string{"a\u2028b"} }, "args"},
		"many arguments":         {func(d *program.Description) { d.Args = many }, "args"},
		"empty wrapper":          {func(d *program.Description) { d.Wrapper = []string{""} }, "wrapper"},
		"variable with =":        {func(d *program.Description) { d.Env = map[string]string{"A=B": ""} }, "env"},
		"variable without name":  {func(d *program.Description) { d.Env = map[string]string{"": "x"} }, "env"},
		"reserved variable":      {func(d *program.Description) { d.Env = map[string]string{"collet_pipe": "x"} }, "env"},
		"variables by case":      {func(d *program.Description) { d.Env = map[string]string{"a": "", "A": ""} }, "env"},
		"long value":             {func(d *program.Description) { d.Env = map[string]string{"A": long} }, "env.A"},
		"no seconds":             {func(d *program.Description) { d.Ready.Seconds = 0 }, "ready.seconds"},
		"many seconds":           {func(d *program.Description) { d.Ready.Seconds = program.MaxReadySeconds + 1 }, "ready.seconds"},
		"negative code":          {func(d *program.Description) { d.Exit.Clean = []int64{-1} }, "exit.clean"},
		"large code":             {func(d *program.Description) { d.Exit.Reload = []int64{1 << 32} }, "exit.reload"},
		"code twice":             {func(d *program.Description) { d.Exit.Clean = []int64{1, 1} }, "exit.clean"},
		"code in both":           {func(d *program.Description) { d.Exit = program.Exit{Clean: []int64{0, 5}, Reload: []int64{5}} }, "exit.reload"},
		"kept path above":        {func(d *program.Description) { d.Keep = []program.Kept{{Path: "../a"}} }, "keep"},
		"kept among shipped":     {func(d *program.Description) { d.Keep = []program.Kept{{Path: ".KEEP/a"}} }, "keep"},
		"kept twice":             {func(d *program.Description) { d.Keep = []program.Kept{{Path: "a"}, {Path: "a"}} }, "keep"},
		"kept twice by case":     {func(d *program.Description) { d.Keep = []program.Kept{{Path: "A"}, {Path: "a"}} }, "keep"},
		"kept and executable":    {func(d *program.Description) { d.Keep = []program.Kept{{Path: "bin/lathe.x86_64"}} }, "keep"},
		"kept and new":           {func(d *program.Description) { d.Keep = []program.Kept{{Path: "a", New: true}, {Path: "a.new"}} }, "keep"},
		"many kept":              {func(d *program.Description) { d.Keep = make([]program.Kept, program.MaxKeep+1) }, "keep"},
	} {
		d := full()
		test.change(&d)
		_, err := d.Encode()
		var fault *program.FieldError
		if !errors.As(err, &fault) || fault.Field != test.field || fault.Reason == "" {
			t.Errorf("%s: %v; want a fault of %s", name, err, test.field)
		}
	}
	if err := full().Check(); err != nil {
		t.Error(err)
	}
	d := full()
	d.Folder = program.ResourcesFolder
	if err := d.Check(); err != nil {
		t.Error("folder of resources:", err)
	}
}

// TestLargest: a description within all other caps can still be larger than a document may be.
func TestLargest(t *testing.T) {
	d := least()
	for range program.MaxArgs {
		d.Args = append(d.Args, strings.Repeat("x", 300))
	}
	if _, err := d.Encode(); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a description of 77 KB: %v", err)
	}
}

// FuzzParse: what is accepted has exactly the form that is written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fullText))
	f.Add([]byte(leastText))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := program.Parse(data)
		if err != nil {
			return
		}
		again, err := d.Encode()
		if err != nil || string(again) != string(data) {
			t.Errorf("%q is accepted, and written as %q (%v)", data, again, err)
		}
	})
}
