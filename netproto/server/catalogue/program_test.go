package catalogue_test

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/platform/testlevel"
)

// TestPrograms offers the release of a program to clients that know signed releases or digests, and nothing of it to engine generations.
func TestPrograms(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Files = map[string]map[string]string{"Linux-x64": {"Core.zip": "core", "Lathe.program": "{}", "lib/x.so.zip": "a resource", "bin/game.zip": "the executable"}}
	var log logBook
	c, err := catalogue.Open(t.Context(), config.ForRelease(published(t, r).Dir), zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Game() != "Lathe" {
		t.Errorf("the game is %q", c.Game())
	}
	offer := c.OfferTo(c.Snapshot(), compat.Hello{Target: "Linux-x64"}, compat.Judgement{})
	entries, err := netproto.ParseDescriptor(offer.InitData(0).Descriptor, netproto.Limits{})
	if err != nil || len(entries) != 0 {
		t.Errorf("engine generations are offered %v, %v", entries, err)
	}
	roles := map[string]uint8{}
	for _, f := range offer.FileList().Files {
		roles[f.Path] = f.Role
	}
	if len(roles) != 4 || roles["Lathe.program"] != uint8(release.Binary) || roles["lib/x.so.zip"] != uint8(release.Resource) {
		t.Errorf("clients are offered %v", roles)
	}
	for _, unwanted := range []string{"No client takes", "subfolder", "No native module"} {
		if strings.Contains(log.String(), unwanted) {
			t.Errorf("the log has %q:\n%s", unwanted, log.String())
		}
	}
}
