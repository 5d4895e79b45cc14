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

// maxLooked is how many bytes of a module are searched for what packaging put there. Real ones have some ten million.
const maxLooked = 512 << 20

// endWords says how the game ended. A module that was not packaged has to refuse a program that was (client_areas.h), and few say why:
// the two files tell.
func (g *game) endWords(exit supervise.Exit) string {
	words := exit.String()
	if !g.packed.on() || g.module == "" || exit.Result == nil || exit.Result.Kind != abi.FatalError {
		return words
	}
	packaged, err := isPackagedFile(g.module)
	if err != nil || packaged {
		return words
	}
	return fmt.Sprintf("%s was not packaged, and this program was, as %s: install the game anew (the module %s)", filepath.Base(g.module), g.packed.Name, words)
}

// isPackagedFile reports whether packaging filled a program or module.
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
