package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/publish/upload/uploadtest"
	"collet/build/testprograms"
	"collet/platform/testwait"
)

// TestScripts runs testdata/script with the real program, one topic a file. Beside testscript's own commands there are:
//
//	noise FILE SEED KB     write a file of that many kB (1000 bytes) that does not compress, the same for each seed; a module begins and a pack
//	                       ends as it should
//	damage FILE            change one byte in the middle of each file that the pattern names
//	picture FILE W H       write a PNG of that many pixels
//	web DIR                serve a folder by HTTP and set WEB to its address
//	bucket                 start an S3 store with the bucket games, and set BUCKET to its host; "closed" and "open" as argument let it refuse
//	                       everything, or not
//	listed FILE            put the places www, other and S3 into the settings of a release folder
//	softhsm                begin a token in files, and set MODULE to its PKCS#11 module
//	serve ARGS…            run collet-server, and set SERVER to the address of its HTTP port
//	beacons N QUERY        send the server a beacon so many times
//	templated FILE         write FILE from FILE.in, with the variables in it
func TestScripts(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(testprograms.Collet(t))
	testprograms.Client(t) // pack finds it beside collet
	server := testprograms.Server(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"noise": writeNoise, "damage": damage, "picture": writePicture, "web": serveFolder, "templated": writeTemplated, "bucket": new(bucket).run, "listed": listPlaces, "softhsm": beginToken,
			"serve": serveReleases, "beacons": sendBeacons},
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLLET_SERVER", server)
			e.Setenv("PATH", folder+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
	})
}

func serveFolder(ts *testscript.TestScript, neg bool, args []string) {
	server := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(server.Close)
	ts.Setenv("WEB", server.URL)
}

// serveReleases runs the real server until the script ends.
func serveReleases(ts *testscript.TestScript, neg bool, args []string) {
	address := testwait.FreeAddress(ts)
	cmd := exec.Command(ts.Getenv("COLLET_SERVER"), append(args, "--listen", "127.0.0.1:0", "--http", address)...)
	cmd.Dir = ts.MkAbs(".")
	said := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		ts.Logf("%s", said)
	})
	ts.Setenv("SERVER", "http://"+address)
	testwait.Until(ts, func() bool {
		answer, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	}, "the server is ready")
}

func sendBeacons(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range n {
		answer, err := http.Get(ts.Getenv("SERVER") + "/beacon?" + args[1])
		ts.Check(err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			ts.Fatalf("%s: %s", args[1], answer.Status)
		}
	}
}

// bucket has the stores of the scripts, by address.
type bucket struct{ stores sync.Map }

func (b *bucket) run(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		store := uploadtest.NewS3(ts.Defer)
		b.stores.Store(store.Host, store)
		ts.Setenv("BUCKET", store.Host)
		return
	}
	store, _ := b.stores.Load(ts.Getenv("BUCKET"))
	store.(*uploadtest.S3).SetClosed(args[0] == "closed")
}

func listPlaces(ts *testscript.TestScript, neg bool, args []string) {
	list := fmt.Sprintf("Outputs = [%q, %q, %q]", ts.MkAbs("www"), ts.MkAbs("other"), ts.Getenv("S3"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(ts.ReadFile(args[0]), "# Outputs = []", list, 1)), 0o644))
}

func beginToken(ts *testscript.TestScript, neg bool, args []string) {
	modules, err := filepath.Glob("/usr/lib*/softhsm/libsofthsm*.so")
	ts.Check(err)
	if len(modules) == 0 {
		ts.Fatalf("softhsm2-util is there, and its module is not")
	}
	ts.Setenv("MODULE", modules[0])
	ts.Setenv("SOFTHSM2_CONF", ts.MkAbs("softhsm2.conf"))
	ts.Check(os.MkdirAll(ts.MkAbs("tokens"), 0o700))
	ts.Check(os.WriteFile(ts.MkAbs("softhsm2.conf"), []byte("directories.tokendir = "+ts.MkAbs("tokens")+"\nlog.level = ERROR\n"), 0o600))
}

func writeTemplated(ts *testscript.TestScript, neg bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]+".in"), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func writeNoise(ts *testscript.TestScript, neg bool, args []string) {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	data := make([]byte, n*1000)
	for i := range data {
		seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's generator
		data[i] = byte(seed >> 56)
	}
	switch filepath.Ext(args[0]) {
	case ".so":
		copy(data, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00") // a library for x86-64
	case ".dll":
		copy(data, "MZ")
		copy(data[0x3c:], "\x40\x00\x00\x00PE\x00\x00\x64\x86")
	case ".zip":
		copy(data[len(data)-22:], "PK\x05\x06"+strings.Repeat("\x00", 18)) // the end of an archive without files
	}
	name := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	ts.Check(os.WriteFile(name, data, 0o644))
}

func damage(ts *testscript.TestScript, neg bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("nothing is called %s", args[0])
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		ts.Check(err)
		data[len(data)/2] ^= 1
		ts.Check(os.WriteFile(name, data, 0o644))
	}
	fmt.Fprintf(ts.Stdout(), "%d\n", len(names))
}
