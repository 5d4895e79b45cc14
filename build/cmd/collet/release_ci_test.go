package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"collet/app/acquire"
	"collet/build/publish"
	"collet/build/testprograms"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// action is what a composite action of GitHub has.
type action struct {
	Inputs map[string]struct {
		Description, Default string
		Required             bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Shell, Run string
			Folder     string `yaml:"working-directory"`
			Env        map[string]string
		}
	}
}

var inputForm = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ci", filepath.FromSlash(name)))
	if err == nil {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		err = decoder.Decode(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ciProject makes a project of two small files, with keys and a release folder, and gives its folder and the texts of its keys by role.
func ciProject(t *testing.T) (dir string, keys map[string]string) {
	t.Helper()
	for _, tool := range []string{"bash", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: no %s on this machine", tool)
		}
	}
	dir = t.TempDir()
	icon, err := os.ReadFile(filepath.Join("..", "..", "..", "assets", "icon.png"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"icon.png": string(icon), "game/run.sh": "#!/bin/sh\n", "game/level": "one",
		"collet.toml": `[game]
name = "Lathe"
id = "org.example.lathe"
version = "1.2.0"
publisher = "Example Games"
maintainer = "Example Games <games@example.org>"
summary = "Turning wood among the stars"
icon = "icon.png"
time = 2026-11-22T12:00:00Z
[client]
server = "tls://update.example.org:4000"
[[target]]
name = "Linux-x64"
folder = "game"
program = "run.sh"
`,
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	runCI(t, dir, nil, testprograms.Collet(t), "keys", "init", "--development")
	runCI(t, dir, nil, testprograms.Collet(t), "release", "init", "--product", "lathe", "--allow-development")
	keys = map[string]string{}
	for _, role := range []string{"targets", "snapshot", "timestamp"} {
		text, err := os.ReadFile(filepath.Join(dir, "keys", role+"-1.key"))
		if err != nil {
			t.Fatal(err)
		}
		keys[role] = string(text)
	}
	if err := os.RemoveAll(filepath.Join(dir, "keys")); err != nil { // a build job has only the secrets
		t.Fatal(err)
	}
	return dir, keys
}

// runCI runs a program without a terminal, with these variables and no others of Collet.
func runCI(t *testing.T, dir string, env map[string]string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(testprograms.Collet(t)) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir}
	for key, value := range env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, said)
	}
	return string(said)
}

// TestGitHubAction runs the step of the action as GitHub does: inputs in the environment, the script in bash.
func TestGitHubAction(t *testing.T) {
	t.Parallel()
	var a action
	readYAML(t, "github/action.yml", &a)
	dir, keys := ciProject(t)
	given := map[string]string{
		"targets-key": keys["targets"], "snapshot-key": keys["snapshot"], "timestamp-key": keys["timestamp"], "allow-development": "true",
		"channel": "beta", "percent": "10", "label": `1.2 "rc"; exit 1`, "to": filepath.Join(dir, "copy"), "project": dir,
	}
	used := map[string]bool{}
	input := func(text string) string {
		return inputForm.ReplaceAllStringFunc(text, func(found string) string {
			name := inputForm.FindStringSubmatch(found)[1]
			declared, is := a.Inputs[name]
			if !is {
				t.Errorf("the input %s is not declared", name)
			}
			if used[name] = true; declared.Required || given[name] != "" {
				return given[name]
			}
			return declared.Default
		})
	}
	if len(a.Runs.Steps) != 1 || a.Runs.Using != "composite" || a.Runs.Steps[0].Shell != "bash" {
		t.Fatalf("the action is %+v", a.Runs)
	}
	step := a.Runs.Steps[0]
	if strings.Contains(step.Run, "${{") {
		t.Error("the script has inputs in its text, which could be commands")
	}
	if err := os.Mkdir(filepath.Join(dir, "copy"), 0o755); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.md")
	env := map[string]string{"GITHUB_STEP_SUMMARY": page}
	for name, value := range step.Env {
		env[name] = input(value)
	}
	runCI(t, input(step.Folder), env, "bash", "-c", step.Run)
	for name, declared := range a.Inputs {
		if !used[name] || declared.Description == "" {
			t.Errorf("the input %s is not used, or not described", name)
		}
	}
	wantPage(t, page, "## Release 1 of beta for Linux-x64\n\nOffered to: 10 % of the players.\n", "It is the first release of this channel and target.")
	if err := os.WriteFile(filepath.Join(dir, "game", "level"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	runCI(t, input(step.Folder), env, "bash", "-c", step.Run)
	wantPage(t, page, "## Release 2 of beta for Linux-x64\n", "| 1 | ", "Since release 1: files 0 added (0 B), 2 changed (", "| level | changed | 3 B |")
	if _, err := os.Stat(filepath.Join(dir, "copy", "metadata", "timestamp.json")); err != nil {
		t.Errorf("the copy: %v", err)
	}
}

// TestGitLabTemplate runs the script of the template in one shell, as a runner does.
func TestGitLabTemplate(t *testing.T) {
	t.Parallel()
	var file map[string]struct {
		Variables map[string]string
		Script    []string
		Artifacts struct{ Paths []string }
		Group     string `yaml:"resource_group"`
	}
	readYAML(t, "gitlab.yml", &file)
	job, is := file[".collet-publish"]
	if !is || job.Group == "" || !slices.Equal(job.Artifacts.Paths, []string{"collet-summary.md"}) {
		t.Fatalf("the template is %+v", file)
	}
	dir, keys := ciProject(t)
	env := map[string]string{"COLLET_KEY_TARGETS": keys["targets"], "COLLET_KEY_SNAPSHOT": keys["snapshot"], "COLLET_KEY_TIMESTAMP": keys["timestamp"]}
	for name, value := range job.Variables {
		env[name] = value
	}
	env["COLLET_ALLOW_DEVELOPMENT"], env["COLLET_LABEL"] = "true", "1.2 `id`"
	said := runCI(t, dir, env, "sh", "-e", "-c", strings.Join(job.Script, "\n"))
	if !strings.Contains(said, "stable 1") {
		t.Errorf("it said %s", said)
	}
	wantPage(t, filepath.Join(dir, "collet-summary.md"), "## Release 1 of stable for Linux-x64\n")
}

func wantPage(t *testing.T, name string, parts ...string) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if !strings.Contains(string(page), part) {
			t.Errorf("the summary has no %q:\n%s", part, page)
		}
	}
}

// TestKeysFromEnvironment takes all keys from the environment, or none.
func TestKeysFromEnvironment(t *testing.T) {
	t.Parallel()
	key, err := trust.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := trust.GenerateKey(false)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := secure.Encode([]byte("right and long"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(wrong, []byte("wrong and long\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	roles := []trust.KeyRole{trust.RoleTargets, trust.RoleSnapshot}
	for _, test := range []struct {
		env  map[string]string
		n    int
		want string
	}{
		{nil, 0, ""},
		{map[string]string{"COLLET_KEY_TARGETS": string(text), "COLLET_KEY_SNAPSHOT": string(text)}, 2, ""},
		{map[string]string{"COLLET_KEY_TARGETS": string(text)}, 0, "$COLLET_KEY_SNAPSHOT is missing, others are set; set each variable to the whole text of its key file"},
		{map[string]string{"COLLET_KEY_TARGETS": "secret", "COLLET_KEY_SNAPSHOT": "secret"}, 0, "$COLLET_KEY_TARGETS: "},
		{map[string]string{"COLLET_KEY_TARGETS": string(locked), "COLLET_KEY_SNAPSHOT": string(text)}, 0,
			"$COLLET_KEY_TARGETS: the passphrase does not open this key file; check $COLLET_PASSPHRASE"},
	} {
		keys, err := keyFlags{ci: true, PassphraseFile: wrong}.keysFromEnvironment(func(name string) string { return test.env[name] }, roles...)
		if len(keys) != test.n || (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret\"")) {
			t.Errorf("%d keys, %v; want %d, %q", len(keys), err, test.n, test.want)
		}
	}
}

// TestMisplaced: a key in the variable of another role is named, and so is one of another release folder.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	var keys []*trust.PrivateKey
	for range 3 {
		key, err := trust.GenerateKey(true)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	roles := []trust.KeyRole{trust.RoleTargets, trust.RoleSnapshot}
	root := trust.RootInfo{Roles: map[trust.KeyRole]trust.RoleInfo{}}
	for i, role := range roles {
		root.Roles[role] = trust.RoleInfo{Keys: []string{keys[i].Public().ID()}, Threshold: 1}
	}
	for _, test := range []struct {
		keys []*trust.PrivateKey
		want string
	}{
		{nil, ""}, {keys[:2], ""},
		{[]*trust.PrivateKey{keys[1], keys[0]}, "$COLLET_KEY_TARGETS has the key of snapshot; set it to the whole text of the folder's key file of targets, such as targets-1.key"},
		{[]*trust.PrivateKey{keys[0], keys[2]}, "$COLLET_KEY_SNAPSHOT has a key that this release folder does not know"},
	} {
		if err := misplaced(root, test.keys, roles); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestPrintUpdate: names of files can't be Markdown, and long lists end.
func TestPrintUpdate(t *testing.T) {
	t.Parallel()
	u := publish.Update{Before: 1, First: publish.Estimate{Cost: acquire.Cost{Bytes: 2006}}, Files: []publish.Change{{Kind: publish.Added, Path: "a|b`<img>[x](y)_*", Size: 5}}}
	for i := range summaryFiles + 2 {
		u.Files = append(u.Files, publish.Change{Kind: publish.Removed, Path: fmt.Sprint(i)})
	}
	var page strings.Builder
	printUpdate(&page, publish.ReleaseSummary{Entry: release.Entry{Channel: "stable", Target: "Linux-x64", Number: 2, Percent: 100}, Files: 3, Bytes: 7, Whole: 6}, u, false)
	for _, want := range []string{
		"## Release 2 of stable for Linux-x64\n\n3 files, 7 B. A new player fetches 2.0 kB.\n", "Since release 1: files 1 added (5 B), 0 changed (0 B), 102 removed (0 B).",
		"| a\\|b\\`&lt;img&gt;\\[x\\](y)\\_\\* | added | 5 B |\n", "| … and 3 more | | |\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

// TestPINOfVariable: $COLLET_PIN is the PIN, but not where it could lock the token.
func TestPINOfVariable(t *testing.T) {
	job := keyFlags{ci: true}
	t.Setenv("COLLET_PIN", "4711")
	if pin, err := job.pin("lathe", false); err != nil || string(pin) != "4711" {
		t.Errorf("%q, %v", pin, err)
	}
	if pin, err := job.pin("lathe", true); err == nil || !strings.Contains(err.Error(), "was not tried") || strings.Contains(err.Error(), "4711") {
		t.Errorf("the last try: %q, %v", pin, err)
	}
	t.Setenv("COLLET_PIN", "")
	if pin, err := job.pin("lathe", false); err == nil || !strings.Contains(err.Error(), "set COLLET_PIN") {
		t.Errorf("%q, %v", pin, err)
	}
}
