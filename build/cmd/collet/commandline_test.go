package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"collet/build/testprograms"
	"collet/platform/commandline"
	"collet/platform/commandlinetest"
)

// TestExamples: each command has an example in its help, and each example is a command line that is accepted.
func TestExamples(t *testing.T) {
	commandlinetest.Examples(t, func(more ...kong.Option) *kong.Kong { return newParser(&commands{}, io.Discard, io.Discard, more...) })
}

// TestManualPages writes a page for each command.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := run([]string{"--man", dir}, &out, &errs); code != 0 || out.Len()+errs.Len() > 0 {
		t.Fatal(code, &out, &errs)
	}
	commandlinetest.Manual(t, dir, len(commandlinetest.Commands(newParser(&commands{}, io.Discard, io.Discard).Model.Node)))
}

// TestCompletion: bash completes the commands of the real program.
func TestCompletion(t *testing.T) {
	program := testprograms.Collet(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there")
	}
	var script, errs bytes.Buffer
	if code := run([]string{"--completion", "bash"}, &script, &errs); code != 0 {
		t.Fatal(code, &errs)
	}
	if want, err := commandline.Script("bash", "collet"); err != nil || script.String() != want {
		t.Errorf("the script is not printed as it is: %v\n%s", err, &script)
	}
	ask := func(words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"-c", script.String() + `COMP_WORDS=(collet "$@"); COMP_CWORD=$#; _collet_complete collet; echo "${COMPREPLY[@]}"`, "bash"}, words...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, said)
		}
		return strings.TrimSpace(string(said))
	}
	for _, c := range [][]string{
		{"rel", "release"}, {"release", "pu", "publish"}, {"pack", "all", "--on", "--only"}, {"qa", "crash", "--depth", "", "1 2 full"}, {"demo", "--keep", "", ""},
	} {
		if got := ask(c[:len(c)-1]...); got != c[len(c)-1] {
			t.Errorf("%q: %q", c, got)
		}
	}
}
