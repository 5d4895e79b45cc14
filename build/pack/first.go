package pack

import (
	"path/filepath"
)

// First is what the first release of a project needs before its description can be checked: the trusted root is written with it.
type First struct {
	Product string // client.product; empty without one
	Root    string // path of the trusted root; empty without one
}

// LoadFirst reads only that of a description. Mistakes are left to Load.
func LoadFirst(file string) (First, error) {
	data, err := readDescription(file)
	if err != nil {
		return First{}, err
	}
	d, _ := parse(file, data)
	f := First{Product: d.Client.Product}
	if filepath.IsLocal(filepath.FromSlash(d.Client.TrustedRoot)) {
		f.Root = filepath.Join(filepath.Dir(file), filepath.FromSlash(d.Client.TrustedRoot))
	}
	return f, nil
}
