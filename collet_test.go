package collet_test

import (
	"regexp"
	"testing"

	"collet"
)

func TestApp(t *testing.T) {
	app := collet.App()
	if app.Name != "Collet" || app.Build < 1 {
		t.Errorf("App() = %+v", app)
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(collet.Version()) {
		t.Errorf("Version() = %q, want three numbers", collet.Version())
	}
	if !regexp.MustCompile(`^[a-z]+(\.[a-z]+)+$`).MatchString(collet.AppID()) {
		t.Errorf("AppID() = %q, want a reverse-domain id", collet.AppID())
	}
}
