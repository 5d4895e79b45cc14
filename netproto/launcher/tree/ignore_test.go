package tree_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"collet/netproto/launcher/tree"
)

// TestIgnoreRules holds the rules to what gitignore(5) says.
func TestIgnoreRules(t *testing.T) {
	tests := []struct {
		name  string
		lines string
		out   []string // files that are left out
		in    []string // files that are sent
	}{
		{"nothing", "", nil, []string{"a", "b/c", "saves/.keep"}},
		{"always", "", []string{".git/config", "mod/.git/HEAD", "x/.DS_Store", "~part", "data/~part", ".colletignore"}, []string{"mod/.colletignore", "a~"}},
		{"always, taken back", "!.git", nil, []string{".git/config"}},
		{"comments and blanks", "# a\n\n   \n\\#b\n", []string{"#b"}, []string{"a", "# a"}},
		{"a name anywhere", "tmp", []string{"tmp", "a/tmp", "tmp/x", "a/tmp/x/y"}, []string{"tmp1", "a/xtmp"}},
		{"anchored", "/tmp", []string{"tmp", "tmp/x"}, []string{"a/tmp"}},
		{"a slash inside anchors", "a/tmp", []string{"a/tmp", "a/tmp/x"}, []string{"b/a/tmp"}},
		{"folders only", "logs/", []string{"logs/a", "b/logs/a"}, []string{"logs", "b/logs"}},
		{"anchored folder", "/logs/", []string{"logs/a"}, []string{"logs", "b/logs/a"}},
		{"star", "*.log", []string{"a.log", "b/c.log"}, []string{"a.logs", "log"}},
		{"star stays in its element", "/a/*.log", []string{"a/b.log"}, []string{"a/b/c.log"}},
		{"question mark and class", "?.[ch]\n[!a]x", []string{"a.c", "b/z.h", "bx"}, []string{"ab.c", "a.o", "ax"}},
		{"two stars in front", "**/x/y", []string{"x/y", "a/x/y", "a/b/x/y"}, []string{"x/a/y"}},
		{"two stars between", "a/**/z", []string{"a/z", "a/b/z", "a/b/c/z"}, []string{"b/a/z"}},
		{"two stars behind", "a/**\n!a/keep", []string{"a/b", "a/b/c"}, []string{"a/keep", "b/a/c"}},
		{"the last line wins", "*.log\n!keep.log\n/x/keep.log", []string{"a.log", "x/keep.log"}, []string{"keep.log", "b/keep.log"}},
		{"nothing comes back from a folder that is out", "a/\n!a/keep", []string{"a/keep"}, nil},
		{"escaped mark", `\!x`, []string{"!x"}, []string{"x"}},
		{"spaces at the end", "a  \nb\\ \n", []string{"a", "b "}, []string{"a  ", "b"}},
		{"braces are letters", "{a,b}", []string{"{a,b}"}, []string{"a", "b"}},
		{"braces with stars", "*{a}", []string{"x{a}"}, []string{"xa"}},
		{"lines of Windows", "\uFEFFa\r\nb\r\n", []string{"a", "b"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules, err := tree.ParseIgnore(test.lines)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range test.out {
				if !rules.File(name) {
					t.Errorf("%q is sent", name)
				}
			}
			for _, name := range test.in {
				if rules.File(name) {
					t.Errorf("%q is left out", name)
				}
			}
		})
	}
}

func TestIgnoreRefusesWhatIsNoPattern(t *testing.T) {
	for _, line := range []string{"a[", "/", "!", `a\`} {
		_, err := tree.ParseIgnore("fine\n\n" + line + "\n")
		var fault *tree.IgnoreError
		if !errors.As(err, &fault) || fault.Line != 3 || fault.Text != line {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// FuzzIgnore wants an answer to everything, the same one from both ways to ask.
func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!a/keep.log\n/x/**", "a/b.log")
	f.Add("[!a]{b}\\c/", "a/{b}c/d")
	f.Add("**/**/**/*a*b*c*", "a/b/c/d/abc")
	f.Fuzz(func(t *testing.T, lines, name string) {
		if len(lines) > 200 || len(name) > 200 || strings.HasPrefix(name, "/") || path.Clean(name) != name {
			t.Skip()
		}
		rules, err := tree.ParseIgnore(lines)
		if err != nil {
			return
		}
		out := rules.Entry(name, false)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			out = out || rules.Entry(dir, true)
		}
		if rules.File(name) != out {
			t.Errorf("rules %q, file %q: %v, want %v", lines, name, !out, out)
		}
	})
}
