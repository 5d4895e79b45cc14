package config_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

func TestPrintedSettingsMeanTheSame(t *testing.T) {
	folder := t.TempDir()
	path := writeSettings(t, `
CompatibilityVersion = 'with "quotes"'
[Limits]
IdleTime = "90s"
TotalBandwidth = 1_000_000
ExemptAddresses = ["192.0.2.0/24"]
[Baking]
ClientResources = '`+folder+`'
PlatformBinaries = '`+folder+`'
CacheResources = '`+folder+`'
[SubConfig.A]
Baking.ClientResourceEntries = ["Core", "Maps"]
Limits.ExemptAddresses = []
`)
	for _, sub := range []string{"", "A"} {
		set, from, err := config.LoadWithOrigins(path, sub)
		if err != nil {
			t.Fatal(err)
		}
		from["Network.ServerPort"] = "--made-up"
		var text bytes.Buffer
		if err := set.Print(&text, from); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`CompatibilityVersion = 'with "quotes"'  # ` + path + ":2\n", `IdleTime = "1m30s"  # ` + path + ":4\n",
			"ServerPort = 4000  # --made-up\n", `DrainTime = "10s"  # default` + "\n",
		} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, &text)
			}
		}
		again, err := config.Load(writeSettings(t, text.String()), "")
		if err != nil {
			t.Fatalf("%v in\n%s", err, &text)
		}
		if a, b := printed(t, set), printed(t, again); a != b {
			t.Errorf("%s\nbecame\n%s", a, b)
		}
	}
}

func printed(t *testing.T, set config.Settings) string {
	t.Helper()
	var text bytes.Buffer
	if err := set.Print(&text, nil); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestFaultsOfLimits(t *testing.T) {
	for text, want := range map[string]string{
		"Limits.Connections = 0":                       "Limits.Connections: must be between 1 and",
		"Limits.ConnectionsPerAddress = -1":            "must be between 1 and",
		"Limits.MessageSize = 100":                     "must be between 1024 and 16777216 bytes",
		"Limits.RequestsInFlight = 5000":               "must be between 1 and 1024 requests",
		"Limits.ClientBandwidth = 10":                  "bytes a second, or 0 for no limit",
		"Limits.HandshakeTime = \"0s\"":                `must be a time like "10s" or "30m", between "1s" and`,
		"Limits.DrainTime = \"-1s\"":                   `, or "0s"`,
		"Limits.IdleTime = \"soon\"":                   "must be a time like",
		"Limits.IdleTime = 30":                         `is of type integer, want a time in quotes, like "10s" or "30m"`,
		"Limits.ExemptAddresses = [\"home\"]":          `"home" is no address or prefix`,
		"Operations.WatchTime = \"1ms\"":               "must be a time like",
		"Operations.HttpAdress = \":1\"":               "did you mean Operations.HTTPAddress?",
		"Limits.ConnectionPerSecond = 1":               "did you mean Limits.ConnectionsPerSecond?",
		"Limits.Connections = 99999999999999999999999": "too large",
	} {
		_, err := config.Load(writeSettings(t, "CompatibilityVersion = \"v\"\n"+text), "")
		var fault *config.Error
		if !errors.As(err, &fault) || fault.Line != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s… on line 2", text, err, want)
		}
	}
}
