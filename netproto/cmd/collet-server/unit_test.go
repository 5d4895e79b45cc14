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

	"collet/netproto/server/config"
)

// units is the folder of the unit files: their package also installs them.
const units = "../../../build/pack/linux/systemd"

// installed is where the unit expects the program.
const installed = "/usr/bin/collet-server"

// unit reads a unit file: name → values, in order.
func unit(t *testing.T, file string) map[string][]string {
	t.Helper()
	in, err := os.Open(filepath.Join(units, file))
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
		opt, err := parseOptions(strings.Fields(line))
		if !ours || err != nil {
			t.Fatalf("%s=%s: %v", name, service[name], err)
		}
		control[name] = opt.Control
	}
	if control["ExecStart"] != control["ExecReload"] || filepath.Dir(control["ExecStart"]) != "/run/"+service["RuntimeDirectory"][0] {
		t.Errorf("control sockets %v, runtime folder %s", control, service["RuntimeDirectory"])
	}
	stop, err := time.ParseDuration(service["TimeoutStopSec"][0])
	if drain := config.DefaultLimits().DrainTime; err != nil || stop < 2*drain {
		t.Errorf("stopped after %v, %v; draining alone takes %v", stop, err, drain)
	}
	for _, want := range []string{"NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictAddressFamilies", "SystemCallFilter"} {
		if len(service[want]) == 0 {
			t.Errorf("the service is not held by %s", want)
		}
	}
}

// TestSocketUnits holds each to one port and a name that the program knows, and those of other names than the service's to
// the service.
func TestSocketUnits(t *testing.T) {
	for file, want := range map[string]struct{ name, port, service string }{
		"collet-server.socket":     {"players", "4000", ""},
		"collet-server-tls.socket": {"tls", "4443", "collet-server.service"},
		"collet-server-ws.socket":  {"ws", "4001", "collet-server.service"},
		"collet-server-wss.socket": {"wss", "4001", "collet-server.service"},
	} {
		socket := unit(t, file)
		if names := socket["FileDescriptorName"]; !slices.Equal(names, []string{want.name}) || !slices.Equal(socket["ListenStream"], []string{want.port}) {
			t.Errorf("%s is %v", file, socket)
		}
		if service := strings.Join(socket["Service"], " "); service != want.service {
			t.Errorf("%s is for %q", file, service)
		}
		var s sockets
		if places := s.byName(); places[want.name] == nil {
			t.Errorf("%s has the name %q, which the program does not know", file, want.name)
		}
	}
	found, err := filepath.Glob(filepath.Join(units, "*.socket"))
	if err != nil || len(found) != 4 {
		t.Errorf("units of sockets: %v, %v", found, err)
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
	names := []string{"collet-server.service", "collet-server.socket", "collet-server-tls.socket", "collet-server-ws.socket", "collet-server-wss.socket"}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(units, name))
		if err != nil {
			t.Fatal(err)
		}
		// The program must be there for systemd to be content.
		changed := strings.ReplaceAll(string(text), installed, self)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.Command(analyze, append([]string{"verify", "--man=no"}, names...)...)
	verify.Dir = folder
	if said, err := verify.CombinedOutput(); err != nil || strings.Contains(string(said), "collet-server") {
		t.Errorf("%v: %s", err, said)
	}
}
