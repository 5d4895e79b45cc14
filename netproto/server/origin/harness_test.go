package origin_test

import (
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// templates are the release folders with which tests begin. TestMain sets and removes them.
var templates *releasetest.Templates

func TestMain(m *testing.M) { servertest.Main(m, &templates) }

// published is a release folder with these releases. All of them have the same keys.
func published(t testing.TB, releases ...releasetest.Release) *releasetest.Folder {
	t.Helper()
	return servertest.Published(t, templates, releases...)
}

// big is a release with a patch that does not fit into the buffers of a connection.
func big(t *testing.T) (dir, name, content string, set config.Settings) {
	t.Helper()
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 1<<20)
	f := published(t, r)
	set = servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = config.MaxPortion
	return f.Dir, release.ObjectOf([]byte(r.Patch)).Path(), r.Patch, set
}
