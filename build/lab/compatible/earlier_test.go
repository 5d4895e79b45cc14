//go:build unix

package compatible

import (
	"testing"

	"collet/build/testprograms"
)

// earlier is the commit of the earlier programs: the last one before the packages were restructured.
const earlier = "086cdaac3afe4fc4c886e3ceeb20fba05936a820"

// root is the repository, from the folder of this package.
const root = "../../.."

// earlierPrograms returns the folder with the earlier collet-client, collet-server and collet. It builds them unless they are there.
func earlierPrograms(t *testing.T) string {
	t.Helper()
	return testprograms.Earlier(t, earlier, map[string]string{
		"collet-client": "./app", "collet-server": "./netproto/cmd/collet-server", "collet": "./build/cmd/collet",
	})
}
