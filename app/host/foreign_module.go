package host

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"collet/app/supervise"
	"collet/runtime/abi"
	"collet/runtime/area"
)

// maxLooked is how many bytes of a module are searched for its package. Real modules have some ten million.
const maxLooked = 512 << 20

// endWords describes how the game ended. A module without a package must refuse a packaged program (client_areas.h), and few report the
// reason, so the module's file is examined.
func (g *game) endWords(exit supervise.Exit) string {
	words := exit.String()
	if g.isProgram() || !g.packed.on() || g.module == "" || exit.Result == nil || exit.Result.Kind != abi.FatalError {
		return words
	}
	packaged, err := isPackagedFile(g.module)
	if err != nil || packaged {
		return words
	}
	return fmt.Sprintf("%s was not packaged, and this program was, as %s: install the game anew (the module %s)", filepath.Base(g.module), g.packed.Name, words)
}

// isPackagedFile reports whether a program or module is packaged.
func isPackagedFile(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLooked))
	if err != nil {
		return false, err
	}
	_, _, packaged := area.Packaged(data)
	return packaged, nil
}
