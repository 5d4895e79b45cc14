package solid_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
)

// set is a listing of resources with contents of these sizes; a path that begins with a colon is a module.
func set(files map[string]int64) (list release.Listing) {
	for path, size := range files {
		use := release.UseResource
		if path[0] == ':' {
			path, use = path[1:], release.UseRuntime
		}
		list = append(list, release.ListedFile{Path: path, Size: size, Use: use, Sum: sum(path, size)})
	}
	slices.SortFunc(list, func(a, b release.ListedFile) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return list
}

func sum(path string, size int64) release.Digest {
	return release.ObjectOf(fmt.Appendf(nil, "%s %d", path, size)).Sum
}

func parts(sizes ...int64) (list []release.Object) {
	for i, n := range sizes {
		list = append(list, release.Object{Sum: sum("part", n*100+int64(i)), Size: n})
	}
	return list
}

func TestContents(t *testing.T) {
	t.Parallel()
	list := set(map[string]int64{"b/x.TXT": 5, "a.txt": 6, "z.bin": 7, ":game.so": 8, "large.bin": solid.MaxGroup + 1, "empty.bin": 0, "none": 3, "d.x/none": 4})
	list = append(list, release.ListedFile{Path: "zz.txt", Size: 6, Sum: sum("a.txt", 6)})
	var sizes []int64
	for _, c := range solid.Contents(list) {
		sizes = append(sizes, c.Size)
	}
	if want := []int64{4, 3, 7, 6, 5, 8}; !slices.Equal(sizes, want) {
		t.Errorf("contents %v, want %v", sizes, want)
	}
}

func TestIndexRoundTrip(t *testing.T) {
	t.Parallel()
	contents := solid.Contents(set(map[string]int64{"a": 10, "b": 20, "c": 30, "d": 40, ":m": 50}))
	groups := []solid.Group{
		{Members: []solid.Member{{Content: 1, Size: 20}, {Content: 2, Size: 30}, {Content: solid.Gone, Size: 7}, {Content: 0, Size: 10}}, Parts: parts(3, 4)},
		{Members: []solid.Member{{Content: solid.Gone, Size: 5}, {Content: 4, Size: 50}}, Parts: parts(9)},
	}
	data := solid.EncodeIndex(groups)
	got, err := solid.ParseIndex(data, contents)
	if err != nil || !reflect.DeepEqual(got, groups) {
		t.Fatalf("%+v, %v", got, err)
	}
	if g := groups[0]; g.Size() != 67 || g.Live() != 60 || g.Packed() != 7 {
		t.Errorf("sizes %d %d %d", g.Size(), g.Live(), g.Packed())
	}
	for at := range data {
		var own *solid.Error
		if _, err := solid.ParseIndex(data[:at], contents); !errors.As(err, &own) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	want := "434901" + "02" + "03" + "04" + "02" + "0f" + "02" + "05" + "02"
	if got := fmt.Sprintf("%x", data[:11]); got != want {
		t.Errorf("the index begins with %s, want %s", got, want)
	}
}

// TestIndexForms has forms of two contents in place of these. Their index has another version.
func TestIndexForms(t *testing.T) {
	t.Parallel()
	contents := solid.Contents(set(map[string]int64{"a": 10, "b": 20, "c": 30}))
	recipe := func(text string) deflate.Recipe {
		r, rest, err := deflate.ReadRecipe([]byte(text))
		if err != nil || len(rest) > 0 {
			t.Fatal(err)
		}
		return r
	}
	groups := []solid.Group{
		{Members: []solid.Member{{Content: 2, Size: 90, Recipe: recipe("\x02\x03\x06\x01\x00")}, {Content: 1, Size: 20}}, Parts: parts(3)},
		{Members: []solid.Member{{Content: 0, Size: 11, Recipe: recipe("\x01\x01\x19")}, {Content: solid.Gone, Size: 7}}, Parts: parts(9)},
	}
	data := solid.EncodeIndex(groups)
	want := "434902" + "02" + "00" + "0b" + "010119" + "01" + "5a" + "0203060100" + "02" + "02"
	if got := fmt.Sprintf("%x", data[:18]); got != want {
		t.Errorf("the index begins with %s, want %s", got, want)
	}
	got, err := solid.ParseIndex(data, contents)
	if err != nil || !reflect.DeepEqual(got, groups) {
		t.Fatalf("%+v, %v", got, err)
	}
	if g := got[0]; g.Size() != 110 || g.Deflated() != 90 {
		t.Errorf("sizes %d %d", g.Size(), g.Deflated())
	}
	places := solid.Form{Contents: contents, Groups: got}.Places()
	if len(places) != 3 || places[contents[0].Sum] != (solid.Place{Group: 1, Form: 11}) || places[contents[1].Sum] != (solid.Place{Group: 0}) {
		t.Errorf("%v", places)
	}
	for at := range data {
		var own *solid.Error
		if _, err := solid.ParseIndex(data[:at], contents); !errors.As(err, &own) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	// A kept group keeps its forms; what is gone has none.
	kept := plan(t, contents[1:], solid.Form{Contents: contents, Groups: got})
	if len(kept) != 1 || !reflect.DeepEqual(kept[0].Members, []solid.Member{{Content: 1, Size: 90, Recipe: recipe("\x02\x03\x06\x01\x00")}, {Content: 0, Size: 20}}) {
		t.Errorf("%+v", kept)
	}
}

// TestIndexCalls has contents with translated calls, beside a form or alone. Their index has a third version.
func TestIndexCalls(t *testing.T) {
	t.Parallel()
	contents := solid.Contents(set(map[string]int64{"a": 10, ":b": 20, ":c": 30}))
	recipe, _, err := deflate.ReadRecipe([]byte("\x01\x01\x19"))
	if err != nil {
		t.Fatal(err)
	}
	called := solid.Group{Members: []solid.Member{{Content: 2, Size: 30, Calls: true}, {Content: 1, Size: 20, Calls: true}}, Parts: parts(3)}
	form := solid.Group{Members: []solid.Member{{Content: 0, Size: 11, Recipe: recipe}}, Parts: parts(9)}
	for name, test := range map[string]struct {
		groups []solid.Group
		want   string
	}{
		"alone":         {[]solid.Group{called}, "434903" + "00" + "02" + "01" + "00" + "01" + "02"},
		"beside a form": {[]solid.Group{called, form}, "434903" + "01" + "00" + "0b" + "010119" + "02" + "01" + "00" + "02"},
	} {
		data := solid.EncodeIndex(test.groups)
		if got := fmt.Sprintf("%x", data[:len(test.want)/2]); got != test.want {
			t.Errorf("%s: the index begins with %s, want %s", name, got, test.want)
		}
		if got, err := solid.ParseIndex(data, contents); err != nil || !reflect.DeepEqual(got, test.groups) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for at := range data {
			var own *solid.Error
			if _, err := solid.ParseIndex(data[:at], contents); !errors.As(err, &own) {
				t.Errorf("%s, cut at %d: %v", name, at, err)
			}
		}
	}
	kept := plan(t, contents[1:], solid.Form{Contents: contents, Groups: []solid.Group{called, form}})
	if len(kept) != 1 || !kept[0].Members[0].Calls || !kept[0].Members[1].Calls {
		t.Errorf("%+v", kept)
	}
}

// TestPlanForms: forms count with their own size, and an error ends the plan.
func TestPlanForms(t *testing.T) {
	t.Parallel()
	contents := solid.Contents(set(map[string]int64{"a": 10, "b": 20, "c": 30}))
	recipe, _, err := deflate.ReadRecipe([]byte("\x01\x01\x16"))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := solid.Plan(contents, solid.Form{}, func(c solid.Content, m *solid.Member) error {
		if c.Size == 20 {
			m.Recipe, m.Size = recipe, solid.MaxGroup-30
		}
		return nil
	})
	if err != nil || len(groups) != 2 || groups[0].Size() != solid.MaxGroup-20 || !groups[0].Members[1].IsForm() {
		t.Errorf("%+v, %v", groups, err)
	}
	broken := errors.New("a broken disk")
	if _, err := solid.Plan(contents, solid.Form{}, func(solid.Content, *solid.Member) error { return broken }); err != broken {
		t.Error(err)
	}
}

func TestIndexRejects(t *testing.T) {
	t.Parallel()
	contents := solid.Contents(set(map[string]int64{"a": 10, "b": 20, "c": solid.MaxGroup - 1}))
	hash := string(make([]byte, 32))
	for name, text := range map[string]string{
		"another version":       "CI\x04\x00",
		"version 0":             "CI\x00\x00",
		"no calls":              "CI\x03\x00\x00\x00",
		"a form and no calls":   "CI\x03\x01\x00\x05\x01\x01\x16\x00\x01\x01\x02\x00\x01" + hash + "\x01",
		"calls of content 3":    "CI\x03\x00\x01\x03\x00",
		"calls in no group":     "CI\x03\x00\x01\x00\x00",
		"calls of a form":       "CI\x03\x01\x00\x05\x01\x01\x16\x01\x00\x01\x01\x02\x00\x01" + hash + "\x01",
		"bytes behind":          "CI\x01\x00\x00",
		"no version":            "CI",
		"no forms":              "CI\x02\x00\x00",
		"a form of content 3":   "CI\x02\x01\x03\x05\x01\x01\x16\x00",
		"a form in no group":    "CI\x02\x01\x00\x05\x01\x01\x16\x00",
		"an empty form":         "CI\x02\x01\x00\x00\x01\x01\x16\x01\x01\x02\x00\x01" + hash + "\x01",
		"a recipe for nothing":  "CI\x02\x01\x00\x05\x01\x01\x00\x01\x01\x02\x00\x01" + hash + "\x01",
		"unknown parameters":    "CI\x02\x01\x00\x05\x01\x01\xff\x01\x01\x02\x00\x01" + hash + "\x01",
		"too large with forms":  "CI\x02\x01\x00\x0b\x01\x01\x16\x01\x01\x06\x00\x01" + hash + "\x01",
		"no parts":              "CI\x01\x01\x01\x02\x00\x00",
		"no members":            "CI\x01\x01\x00\x01" + hash + "\x01",
		"empty run":             "CI\x01\x01\x01\x00\x00\x01" + hash + "\x01",
		"empty stretch":         "CI\x01\x01\x01\x01\x01" + hash + "\x01",
		"content 3":             "CI\x01\x01\x01\x02\x06\x01" + hash + "\x01",
		"content below 0":       "CI\x01\x01\x01\x02\x01\x01" + hash + "\x01",
		"twice":                 "CI\x01\x01\x02\x02\x00\x02\x01\x01" + hash + "\x01",
		"more than a group has": "CI\x01\x01\x01\x06\x00\x01" + hash + "\x01",
		"empty part":            "CI\x01\x01\x01\x02\x00\x01" + hash + "\x00",
		"parts cut off":         "CI\x01\x01\x01\x02\x00\xff\x1f" + hash + "\x01",
	} {
		var own *solid.Error
		if got, err := solid.ParseIndex([]byte(text), contents); !errors.As(err, &own) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := solid.ParseIndex([]byte("CI\x01\x01\x01\x04\x00\x01"+hash+"\x01"), contents); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func FuzzIndex(f *testing.F) {
	contents := solid.Contents(set(map[string]int64{"a": 10, "b": 20, "c": 30}))
	f.Add(solid.EncodeIndex([]solid.Group{{Members: []solid.Member{{Content: 0, Size: 10}, {Content: solid.Gone, Size: 4}, {Content: 2, Size: 30}}, Parts: parts(5)}}))
	f.Add(solid.EncodeIndex([]solid.Group{{Members: []solid.Member{{Content: 0, Size: 10, Calls: true}, {Content: 2, Size: 30}}, Parts: parts(5)}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		groups, err := solid.ParseIndex(data, contents)
		var own *solid.Error
		if err != nil && !errors.As(err, &own) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		again, err := solid.ParseIndex(solid.EncodeIndex(groups), contents)
		if err != nil || len(again) != len(groups) {
			t.Fatalf("%+v became %+v: %v", groups, again, err)
		}
	})
}

// plan plans without forms.
func plan(t *testing.T, contents []solid.Content, old solid.Form) []solid.Group {
	t.Helper()
	groups, err := solid.Plan(contents, old, func(solid.Content, *solid.Member) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// made gives the new groups of a plan a part, as a publisher does.
func made(groups []solid.Group) []solid.Group {
	for i := range groups {
		if groups[i].Parts == nil {
			groups[i].Parts = parts(groups[i].Size())
		}
	}
	return groups
}

// fresh counts the bytes of a plan's new groups.
func fresh(groups []solid.Group) (bytes int64) {
	for _, g := range groups {
		if g.Parts == nil {
			bytes += g.Size()
		}
	}
	return bytes
}

// checkComplete checks that each content is in one group.
func checkComplete(t *testing.T, contents []solid.Content, groups []solid.Group) {
	t.Helper()
	seen := make([]int, len(contents))
	for _, g := range groups {
		if g.Size() > solid.MaxGroup {
			t.Errorf("a group of %d bytes", g.Size())
		}
		for _, m := range g.Members {
			if m.Content != solid.Gone {
				seen[m.Content]++
			}
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("content %d is in %d groups", i, n)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	files := map[string]int64{}
	for i := range 100 {
		files[fmt.Sprintf("f%03d", i)] = int64(4<<20 + i)
	}
	files[":module"] = 1 << 20
	contents := solid.Contents(set(files))
	groups := plan(t, contents, solid.Form{})
	checkComplete(t, contents, groups)
	if len(groups) != 5 || len(groups[4].Members) != 1 {
		t.Fatalf("%d groups, the last with %d members", len(groups), len(groups[len(groups)-1].Members))
	}
	made(groups)

	// One changed file costs what it has, for many releases.
	most := int64(0)
	for i := range 30 {
		name := fmt.Sprintf("f%03d", i)
		files[name]++
		next := solid.Contents(set(files))
		now := plan(t, next, solid.Form{Contents: contents, Groups: groups})
		checkComplete(t, next, now)
		if n := fresh(now); i == 0 && n != files[name] {
			t.Errorf("release %d packs %d bytes, the file has %d", i, n, files[name])
		} else {
			most = max(most, n)
		}
		contents, groups = next, made(now)
		if len(groups) > 5+8+1 {
			t.Fatalf("%d groups after %d releases", len(groups), i)
		}
	}
	if most > 2*solid.MaxGroup {
		t.Errorf("a release packs %d bytes", most)
	}

	// A group that lost more than a quarter is made anew, without what is gone.
	for i := range 31 {
		delete(files, fmt.Sprintf("f%03d", i))
	}
	next := solid.Contents(set(files))
	now := plan(t, next, solid.Form{Contents: contents, Groups: groups})
	checkComplete(t, next, now)
	for _, g := range now {
		if g.Live()*4 < g.Size()*3 {
			t.Errorf("a group of %d bytes with %d live is kept", g.Size(), g.Live())
		}
	}
	if !reflect.DeepEqual(now, plan(t, next, solid.Form{Contents: contents, Groups: groups})) {
		t.Error("two plans differ")
	}
}
