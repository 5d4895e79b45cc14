package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/server"
)

// installed is where the unit expects the program.
const installed = "/usr/bin/collet-server"

// unit reads a unit file: name → values, in order.
func unit(t *testing.T, file string) map[string][]string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	values := map[string][]string{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), "="); found && !strings.HasPrefix(name, "#") {
			values[name] = append(values[name], value)
		}
	}
	return values
}

// TestUnitAsksForWhatThereIs parses the unit's command lines as the program does and compares times and names.
func TestUnitAsksForWhatThereIs(t *testing.T) {
	service := unit(t, "collet-server.service")
	control := map[string]string{}
	for _, name := range []string{"ExecStart", "ExecReload"} {
		line, ours := strings.CutPrefix(service[name][0], installed+" ")
		opt, err := parse(strings.Fields(line))
		if !ours || err != nil {
			t.Fatalf("%s=%s: %v", name, service[name], err)
		}
		control[name] = opt.Control
	}
	if control["ExecStart"] != control["ExecReload"] || filepath.Dir(control["ExecStart"]) != "/run/"+service["RuntimeDirectory"][0] {
		t.Errorf("control sockets %v, runtime folder %s", control, service["RuntimeDirectory"])
	}
	stop, err := time.ParseDuration(service["TimeoutStopSec"][0])
	if drain := server.DefaultLimits().DrainTime; err != nil || stop < 2*drain {
		t.Errorf("stopped after %v, %v; draining alone takes %v", stop, err, drain)
	}
	for _, want := range []string{"NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictAddressFamilies", "SystemCallFilter"} {
		if len(service[want]) == 0 {
			t.Errorf("the service is not held by %s", want)
		}
	}
	socket := unit(t, "collet-server.socket")
	if names := socket["FileDescriptorName"]; !slices.Equal(names, []string{"players"}) || !slices.Equal(socket["ListenStream"], []string{"4000"}) {
		t.Errorf("the socket is %v", socket)
	}
}

// TestSystemdTakesTheUnits lets systemd itself read them, where it is.
func TestSystemdTakesTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"collet-server.service", "collet-server.socket"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// The program must be there for systemd to be content.
		changed := strings.ReplaceAll(string(text), installed, self)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.Command(analyze, "verify", "--man=no", "./collet-server.service", "./collet-server.socket")
	verify.Dir = folder
	if said, err := verify.CombinedOutput(); err != nil || strings.Contains(string(said), "collet-server") {
		t.Errorf("%v: %s", err, said)
	}
}
