package wine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"collet/build/lab/wine"
	"collet/netproto/product"
	"collet/platform/testlevel"
)

// TestBuildClient builds the client for Windows. make test-all runs it before other tests: with an empty build cache it takes minutes, in which
// those of three packages would wait for it.
func TestBuildClient(t *testing.T) {
	testlevel.Lab(t)
	if _, err := exec.LookPath(wine.Compiler); err != nil {
		t.Skip(err)
	}
	if err := wine.BuildClient(t.Context(), ".", filepath.Join(t.TempDir(), "client.exe")); err != nil {
		t.Fatal(err)
	}
}

// TestHostsBuildsTheSame: the script that builds clients for packages uses the flags that the tests try under Wine, so that
// what is packed is what was tried, and names targets as the client does.
func TestHostsBuildsTheSame(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "hosts.sh"))
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`go build (.*) -o "\$out/Windows-win64/collet-client.exe" ./app`).FindSubmatch(script)
	if flags == nil {
		t.Fatal("build/hosts.sh builds no client for Windows")
	}
	want := strings.Join(wine.ClientFlags[:len(wine.ClientFlags)-1], " ") + " '" + wine.ClientFlags[len(wine.ClientFlags)-1] + "'"
	if string(flags[1]) != want {
		t.Errorf("build/hosts.sh builds with %s, the tests with %s", flags[1], want)
	}
	targets := regexp.MustCompile(`(?m)^\t(\w+)/(\w+)\) echo (\S+) ;;$`).FindAllSubmatch(script, -1)
	if len(targets) != 5 {
		t.Errorf("build/hosts.sh knows %d systems, not 5", len(targets))
	}
	for _, line := range targets {
		if got, want := string(line[3]), product.TargetFor(string(line[1]), string(line[2])); got != string(want) {
			t.Errorf("build/hosts.sh calls %s/%s %s, the client %s", line[1], line[2], got, want)
		}
	}
}
