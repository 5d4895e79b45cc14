package config_test

import (
	"testing"

	"collet/netproto/server/config"
)

func TestMonitorAddressIsLoopbackUnlessSaid(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "", ":9100": "127.0.0.1:9100", "0.0.0.0:9100": "0.0.0.0:9100", "[::1]:9100": "[::1]:9100", "9100": "9100",
	} {
		set := config.Defaults()
		set.Operations.HTTPAddress = given
		if got := set.MonitorAddress(); got != want {
			t.Errorf("%q gives %q, want %q", given, got, want)
		}
	}
}
