package commandline_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"collet/platform/commandline"
	"collet/platform/commandlinetest"
	"collet/platform/testlevel"
)

type orders struct {
	Turn turn `cmd:"" help:"Turn a piece.\nSecond line."`
	Tool struct {
		Grind turn `cmd:"" help:"Grind it."`
		Get   struct {
			Kind string `arg:"" enum:"drill,die" help:"Which one."`
			File string `arg:"" optional:"" help:"Where it is."`
		} `cmd:"" help:"Get a tool."`
		Secret turn `cmd:"" hidden:""`
	} `cmd:"" help:"Tools: a list."`
	Version    bool                       `help:"Print the version."`
	Completion commandline.CompletionFlag `help:"Completion."`
	Man        commandline.ManFlag        `help:"Pages."`
}

type turn struct {
	Speed string `short:"s" enum:"slow,fast" default:"slow" help:"How fast.\nMore."`
	Out   string `placeholder:"FILE" help:"-Output\\n."`
	Quick bool   `help:"At once."`
	Inner string `hidden:""`
}

// Help is what --help adds.
func (turn) Help() string { return "Text.\n\n  lathe turn --speed fast\n\n.dotted 'text'" }

type ended int

// parser is that of a small program.
func parser(t *testing.T, out *bytes.Buffer) *kong.Kong {
	t.Helper()
	p, err := kong.New(&orders{}, kong.Name("lathe"), kong.Description("Turns.\n\nMore of it."), kong.Vars{"version": "lathe 1"}, kong.Writers(out, out), kong.Exit(func(code int) { panic(ended(code)) }))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCandidates is the table of what a shell is told.
func TestCandidates(t *testing.T) {
	for line, want := range map[string]string{ // the words before, a bar, the word
		"|":                             "turn tool",
		"|t":                            "turn tool",
		"|to":                           "tool",
		"|x":                            "",
		"|--v":                          "--version",
		"|-":                            "--help --version --completion --man",
		"tool|":                         "grind get",
		"tool|se":                       "",
		"tool get|":                     "drill die",
		"tool get|d":                    "drill die",
		"tool get drill|":               "",
		"turn|--":                       "--help --version --completion --man --speed --out --quick",
		"turn --speed|":                 "slow fast",
		"turn -s|f":                     "fast",
		"turn --speed|=":                "slow fast",
		"turn --speed =|fa":             "fast",
		"turn --speed fast|--q":         "--quick",
		"turn --out tool|--q":           "--quick",
		"turn --out|":                   "",
		"turn --quick|--o":              "--out",
		"turn --|--o":                   "",
		"--version tool|g":              "grind get",
		"tool nothing of the kind|--he": "--help",
	} {
		before, word, _ := strings.Cut(line, "|")
		var got []string
		for _, c := range commandline.Candidates(parser(t, nil).Model, strings.Fields(before), word) {
			if strings.Contains(c.Help, "\n") {
				t.Errorf("%q: the help of %s has several lines", line, c.Word)
			}
			got = append(got, c.Word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestComplete answers a shell, and no other program.
func TestComplete(t *testing.T) {
	var out bytes.Buffer
	if !commandline.Complete(parser(t, &out), []string{"--complete=gr", "tool"}) || out.String() != "grind\tGrind it.\n" {
		t.Errorf("%q", &out)
	}
	for _, args := range [][]string{nil, {"tool", "--complete=g"}, {"--completion", "bash"}} {
		if commandline.Complete(parser(t, nil), args) {
			t.Errorf("%q is taken for a question of a shell", args)
		}
	}
}

// end runs a command line that ends the program.
func end(t *testing.T, p *kong.Kong, args ...string) (code int) {
	t.Helper()
	defer func() {
		if e, is := recover().(ended); is {
			code = int(e)
		}
	}()
	_, err := p.Parse(args)
	t.Errorf("%q went on: %v", args, err)
	return -1
}

// TestScripts prints the script of each shell, and names the shells for any other word.
func TestScripts(t *testing.T) {
	for _, shell := range commandline.Shells() {
		var out bytes.Buffer
		if code := end(t, parser(t, &out), "--completion", shell); code != 0 || strings.Contains(out.String(), "@program@") || strings.Contains(out.String(), "@word@") || !strings.Contains(out.String(), "lathe") {
			t.Errorf("%s: code %d\n%s", shell, code, &out)
		}
	}
	if _, err := parser(t, nil).Parse([]string{"--completion", "ash"}); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish, powershell") {
		t.Error(err)
	}
	if text, err := commandline.Script("bash", "collet-server"); err != nil || !strings.Contains(text, "_collet_server_complete collet-server") {
		t.Error(text, err)
	}
}

// TestManual: each command has a page, with its options, its help and its examples.
func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code := end(t, parser(t, nil), "--man", dir); code != 0 {
		t.Fatal(code)
	}
	commandlinetest.Manual(t, dir, 5)
	text, err := os.ReadFile(filepath.Join(dir, "lathe-tool-grind.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".TH LATHE\\-TOOL\\-GRIND 1 \"\" \"lathe 1\"", "lathe\\-tool\\-grind \\- Grind it\n", ".RS\n.nf\nlathe turn \\-\\-speed fast\n.PP\n.fi\n.RE\n\\&.dotted 'text'\n",
		".B \\-s, \\-\\-speed=", "\\-Output\\en.", ".BR lathe\\-tool (1)\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "inner") {
		t.Error("the page has a hidden flag")
	}
	if _, err := parser(t, nil).Parse([]string{"--man", filepath.Join(dir, "lathe.1")}); err == nil || !strings.Contains(err.Error(), "write manual pages") {
		t.Error(err)
	}
}

// TestShells runs each script in its shell, with a program that notes what it is asked and knows one word. A shell that is not there is
// skipped by name.
func TestShells(t *testing.T) {
	testlevel.Slow(t)
	dir := t.TempDir()
	fake := "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/asked\"\nprintf 'grind\\tGrind: it.\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "lathe"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]string{
		"bash":       `COMP_WORDS=(lathe tool --out gr more); COMP_CWORD=3; _lathe_complete lathe gr --out; printf '%s\n' "${COMPREPLY[@]}"; complete -p lathe >&2`,
		"zsh":        `_describe() { printf '%s\n' "${found[@]%%:*}" }; words=(lathe tool --out gr more); CURRENT=4; _lathe_complete`,
		"fish":       `complete -C "lathe tool --out gr" | string replace -r '\t.*' ''`,
		"powershell": `([System.Management.Automation.CommandCompletion]::CompleteInput('lathe tool --out gr', 19, $null)).CompletionMatches | ForEach-Object CompletionText`,
	} {
		t.Run(shell, func(t *testing.T) {
			program, arguments := shell, []string{"-c"}
			if shell == "powershell" {
				program, arguments = "pwsh", []string{"-NoProfile", "-Command"}
			}
			path, err := exec.LookPath(program)
			if err != nil {
				t.Skipf("%s is not there", program)
			}
			script, err := commandline.Script(shell, "lathe")
			if err != nil {
				t.Fatal(err)
			}
			if shell == "zsh" {
				script = "compdef() { :; }\n" + script
			}
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), path, append(arguments, script+ask)...)
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+home)
			said, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(said)) != "grind" {
				t.Errorf("%v: it offers %q", err, said)
			}
			asked, err := os.ReadFile(filepath.Join(home, "asked"))
			if want := "--complete=gr\ntool\n--out\n"; err != nil || string(asked) != want {
				t.Errorf("%v: it asks %q, want %q", err, asked, want)
			}
		})
	}
}
