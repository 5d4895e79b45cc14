//go:build unix

package compatible

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testprograms"
	"collet/build/testscripts"
	"collet/platform/testlevel"
	"collet/runtime/sample"
)

// stage is that of today's programs, with the earlier ones beside them.
type stage struct {
	*testscripts.Stage
	earlier string // the folder of the earlier programs
}

func newStage(t *testing.T) stage {
	t.Helper()
	testlevel.Lab(t)
	hangups := make(chan os.Signal, 1) // programs would inherit that it is ignored, as under nohup
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	built, s := earlierPrograms(t), stage{Stage: testscripts.NewStage(t), earlier: t.TempDir()}
	for _, name := range programs() {
		// Installs are hard links, so the copy lies on the same volume as the scripts' folders.
		if err := testprograms.RunIn(".", "cp", filepath.Join(built, name), filepath.Join(s.earlier, name)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// programs are the variables of the programs and the programs' names.
func programs() map[string]string {
	return map[string]string{"COLLET_CLIENT": "collet-client", "COLLET_SERVER": "collet-server", "COLLET": "collet"}
}

// setup sets the variables of a script; earlier says which of them name earlier programs. OTHER_CLIENT, OTHER_SERVER and OTHER_COLLET
// name the programs of the other age.
func (s stage) setup(e *testscript.Env, earlier map[string]bool) error {
	if err := s.Setup(e); err != nil {
		return err
	}
	// EARLIER_COLLET, EARLIER_SERVER, TODAYS_COLLET and TODAYS_SERVER are the same ones in all scripts.
	others := map[string]string{"COLLET_CLIENT": "OTHER_CLIENT", "COLLET_SERVER": "OTHER_SERVER", "COLLET": "OTHER_COLLET"}
	for variable, name := range programs() {
		these, those := s.Programs, s.earlier
		if earlier[variable] {
			these, those = those, these
		}
		e.Setenv(variable, filepath.Join(these, name))
		e.Setenv(others[variable], filepath.Join(those, name))
	}
	e.Setenv("EARLIER_COLLET", filepath.Join(s.earlier, programs()["COLLET"]))
	e.Setenv("EARLIER_SERVER", filepath.Join(s.earlier, programs()["COLLET_SERVER"]))
	if e.Setenv("MAINTENANCE_EXIT", "19"); earlier["COLLET_CLIENT"] { // those of earlier clients know no signed rules
		e.Setenv("MAINTENANCE_EXIT", "0")
	}
	e.Setenv("TODAYS_COLLET", filepath.Join(s.Programs, programs()["COLLET"]))
	e.Setenv("TODAYS_SERVER", filepath.Join(s.Programs, programs()["COLLET_SERVER"]))
	return nil
}

func (s stage) commands() map[string]testscripts.Command {
	commands := s.Commands()
	maps.Copy(commands, map[string]testscripts.Command{"module": module, "control": control, "waitspool": waitSpool})
	return commands
}

// TestScripts runs the scripts with an earlier client, and with an earlier server and collet.
func TestScripts(t *testing.T) {
	s := newStage(t)
	for _, direction := range []struct {
		name    string
		earlier map[string]bool // the variables of earlier programs
	}{
		{"old-client", map[string]bool{"COLLET_CLIENT": true}},
		{"new-client", map[string]bool{"COLLET_SERVER": true, "COLLET": true}},
	} {
		t.Run(direction.name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:   filepath.Join("testdata", "script"),
				Cmds:  s.commands(),
				Setup: func(e *testscript.Env) error { return s.setup(e, direction.earlier) },
			})
		})
	}
}

// moduleText is a module that says ready and ends.
const moduleText = `
#include <string.h>
#include "client_runtime.h"

static const ColletHostServices* services;

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    (void)argc;
    (void)argv;
    if (services != NULL)
        services->Ready(services->Context);
    result->ResultKind = FO_CLIENT_RUNTIME_SHUTDOWN;
    result->Success = true;
}

bool FO_QueryClientRuntimeExports(uint32_t abi, ClientRuntimeExports* exports) {
    memset(exports, 0, sizeof *exports);
    exports->StructSize = sizeof *exports;
    exports->Metadata.StructSize = sizeof exports->Metadata;
    exports->Metadata.AbiVersion = abi;
    exports->Metadata.RuntimeName = "Lathe";
    exports->Metadata.BuildHash = "build of %[1]s";
    exports->Metadata.CompatibilityVersion = "%[1]s";
    exports->Run = run;
    return true;
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = offered;
    return true;
}
`

func module(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	testscripts.Check(ts, os.MkdirAll(filepath.Dir(name), 0o755))
	testscripts.Check(ts, sample.BuildText(context.Background(), fmt.Sprintf(moduleText, args[1]), name))
	testscripts.Check(ts, exec.Command("strip", name).Run())
}

func control(ts *testscript.TestScript, _ bool, _ []string) {
	folder, err := os.MkdirTemp("", "collet") // the folders of tests have names that are too long for sockets
	testscripts.Check(ts, err)
	ts.Defer(func() { testscripts.Check(ts, os.RemoveAll(folder)) })
	ts.Setenv("CONTROL", filepath.Join(folder, "control"))
}

func waitSpool(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.ParseInt(args[1], 10, 64)
	testscripts.Check(ts, err)
	records := filepath.Join(ts.MkAbs(args[0]), "Cache", "release", "spool", "*.have")
	testscripts.Wait(ts, "the spool does not grow", func() bool {
		names, err := filepath.Glob(records)
		testscripts.Check(ts, err)
		for _, name := range names {
			var record struct{ Have [][2]int64 }
			data, err := os.ReadFile(name)
			if err != nil || json.Unmarshal(data, &record) != nil {
				continue // it is being replaced
			}
			var sum int64
			for _, part := range record.Have {
				sum += part[1] - part[0]
			}
			if sum >= least {
				return true
			}
		}
		return false
	})
}
