package main

import (
	"bytes"
	"flag"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// golden compares text with a file in testdata/golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		put(t, ".", map[string]string{file: got})
		return
	}
	if want := readText(t, file); got != want {
		t.Errorf("got, other than %s (go test -update takes it, if it is right):\n%s", file, got)
	}
}

// layOut writes files below a new folder and returns it.
func layOut(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, files)
	return dir
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// sampled gives every so-manyth row of a table in the order of its keys, and all of them in make test-all: each is a run of go list.
func sampled[V any](rows map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		every := testlevel.Stride(4, 12)
		for i, key := range slices.Sorted(maps.Keys(rows)) {
			if i%every == 0 && !yield(key, rows[key]) {
				return
			}
		}
	}
}

// harbour is a copy of the project in testdata: components in the way of auto-components.
func harbour(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "project"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// change replaces text in a file, which has to be there.
func change(t *testing.T, path, old, new string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s has no %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(old), []byte(new), 1), 0o666); err != nil {
		t.Fatal(err)
	}
}

// built is when projects are built, as SOURCE_DATE_EPOCH has it.
const built epoch = "1770802200"

// compatgen runs the program.
func compatgen(t *testing.T, args ...string) (said, notes string, err error) {
	t.Helper()
	return compatgenAt(t, built, args...)
}

// compatgenAt runs the program at another time.
func compatgenAt(t *testing.T, e epoch, args ...string) (said, notes string, err error) {
	t.Helper()
	var text, second bytes.Buffer
	err = runCommand(t.Context(), args, out{&text, &second}, e)
	return text.String(), second.String(), err
}

// must runs the program, which has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	return mustAt(t, built, args...)
}

// mustAt runs the program at another time. It has to succeed.
func mustAt(t *testing.T, e epoch, args ...string) string {
	t.Helper()
	said, _, err := compatgenAt(t, e, args...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return said
}

// hashes are the hashes of a project's components by name.
func hashes(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]uint64)
	for name, form := range made.forms {
		all[name] = compat.ComponentHash(form)
	}
	return all
}

// differing are the names whose hashes differ.
func differing(a, b map[string]uint64) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestGolden compares the outputs byte by byte: a change of one changes what every project commits.
func TestGolden(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	for _, name := range []string{"compat_gen.go", "components.h", "manifest.json", "compat.lock"} {
		golden(t, name+".txt", readText(t, filepath.Join(dir, name)))
	}
}

// TestGenTouchesNothing checks that a second gen writes nothing, also years later, and that a stop in the middle of one, which
// leaves a temporary file, is no harm.
func TestGenTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	if said := must(t, "gen", dir); strings.Count(said, "wrote ") != 4 {
		t.Errorf("the first gen said %q", said)
	}
	const later = "1870802200"
	put(t, dir, map[string]string{".compatgen-123": "half"})
	if said := mustAt(t, later, "gen", dir); said != "" {
		t.Errorf("the second gen said %q", said)
	}
	change(t, filepath.Join(dir, "components", "Tide.AutoComponent.xml"), `Type="float" Name="Level"`, `Type="double" Name="Level"`)
	mustAt(t, later, "gen", dir)
	l, err := openLock(filepath.Join(dir, "compat.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range l.Components {
		want := int64(1770802200)
		if name == "Harbour.TideComponent" {
			want = 1870802200
		}
		if part.ChangedAt != want {
			t.Errorf("%s changed at %d, want %d", name, part.ChangedAt, want)
		}
	}
}

// TestDatesAreNotHashed checks that two machines at two times make the same hashes.
func TestDatesAreNotHashed(t *testing.T) {
	t.Parallel()
	var sets []uint64
	for _, e := range []epoch{"1", "1870802200"} {
		dir := harbour(t)
		mustAt(t, e, "gen", dir)
		data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := compat.ParseManifest(data)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, m.Build.Components)
	}
	if sets[0] != sets[1] {
		t.Errorf("%016x at one time, %016x at another", sets[0], sets[1])
	}
}

// TestExplain checks that what is printed is the form in lines, and its hash.
func TestExplain(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(made.forms)) {
		said := strings.Split(strings.TrimRight(must(t, "explain", name, dir), "\n"), "\n")
		for i := range said {
			said[i] = strings.TrimLeft(said[i], " ")
		}
		last := len(said) - 1
		if form := strings.Join(said[:last], " "); form != made.forms[name] || said[last] != hexHash(compat.ComponentHash(form)) {
			t.Errorf("%s is explained as\n%s\nwant\n%s", name, form, made.forms[name])
		}
	}
	if said := must(t, "explain", "Harbour.CaptainComponent", dir, "--logic", "6"); strings.Contains(said, "Rank") {
		t.Errorf("version 6 sees what version 7 brought:\n%s", said)
	}
	for _, args := range [][]string{{"explain", "Nobody", dir}, {"explain", "Harbour.WeatherComponent", dir, "--logic", "6"}} {
		if _, _, err := compatgen(t, args...); err == nil || !strings.Contains(err.Error(), "has no such component") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestCommittedProjects is the check that a change of this repository's own declarations has to pass.
func TestCommittedProjects(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "runtime", "sample", "protocol")
	if said, _, err := compatgen(t, "check", dir); err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
}

// TestUnreadableProjects is the table of projects that are refused, and what is said about them.
func TestUnreadableProjects(t *testing.T) {
	t.Parallel()
	const declares = `"declarations": ["*.xml"]`
	for name, row := range map[string]struct{ json, want string }{
		"no file":         {"", projectFile},
		"unknown key":     {`{"logic": 1, "declaration": []}`, "declaration"},
		"two documents":   {`{"logic": 1, ` + declares + `} {}`, "something follows"},
		"no logic":        {`{` + declares + `}`, "the first logic version is 1"},
		"min above":       {`{"logic": 1, "supported_min": 2, ` + declares + `}`, `it is from 1 to "logic", which is 1`},
		"min below":       {`{"logic": 1, "supported_min": -1, ` + declares + `}`, `"supported_min" is -1`},
		"too many":        {`{"logic": 1001, "supported_min": 1, ` + declares + `}`, "1001 supported logic versions are more than 1000"},
		"nothing":         {`{"logic": 1}`, "says where components are declared"},
		"no such file":    {`{"logic": 1, "declarations": ["there/*.xml"]}`, "no file is like this"},
		"bad pattern":     {`{"logic": 1, "declarations": ["[.xml"]}`, "syntax error in pattern"},
		"no such package": {`{"logic": 1, "go": ["./nowhere"]}`, "nowhere"},
		"bad package":     {`{"logic": 1, ` + declares + `, "package": "a-b"}`, `"package" "a-b"`},
		"hidden names":    {`{"logic": 1, ` + declares + `, "package": "a", "table_name": "b"}`, `"table_name" "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := layOut(t, map[string]string{"a.xml": `<Component Name="A"/>`, "go.mod": "module a\n"})
			if row.json != "" {
				put(t, dir, map[string]string{projectFile: row.json})
			}
			if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// TestCommitOf checks where dates come from: the environment, else the commit, else nowhere; and that a clone without history
// does not count its commits.
func TestCommitOf(t *testing.T) {
	t.Parallel()
	if got := commitOf(t.Context(), t.TempDir(), ""); got != (stamp{}) {
		t.Errorf("outside of a repository: %+v", got)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here, so nothing else can be tried")
	}
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_NOSYSTEM=1", "GIT_COMMITTER_DATE=1770802200 +0000", "GIT_AUTHOR_DATE=1670802200 +0000")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, said)
		}
	}
	git("init", "-q", origin)
	for range 3 {
		git("-C", origin, "commit", "-q", "--allow-empty", "-m", "x")
	}
	git("clone", "-q", "--depth", "1", "file://"+filepath.ToSlash(origin), clone)
	for dir, want := range map[string]stamp{origin: {1770802200, 3}, clone: {1770802200, 0}} {
		if got := commitOf(t.Context(), dir, ""); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if got := commitOf(t.Context(), origin, "5"); got != (stamp{5, 3}) {
		t.Errorf("%+v", got)
	}
}
