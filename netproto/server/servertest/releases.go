package servertest

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"collet/netproto/releasetest"
)

// Main is the TestMain of a package that publishes releases. It sets *templates before the tests, removes them afterwards and fails
// if a goroutine outlives the tests.
func Main(m *testing.M, templates **releasetest.Templates) {
	var err error
	if *templates, err = releasetest.NewTemplates(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		(*templates).Remove()
		os.Exit(code)
	}))
}

// Published returns a new release folder with the given releases. All folders of the same templates have the same keys.
func Published(t testing.TB, templates *releasetest.Templates, releases ...releasetest.Release) *releasetest.Folder {
	t.Helper()
	f, err := templates.Copy(t.TempDir(), releases...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
