package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/text"
)

const (
	// maxPairs limits the paired devices, far above a studio's number.
	maxPairs = 1000
	// maxPairsFile limits the list of pairs in bytes: maxPairs with the longest names, escaped.
	maxPairsFile = 2 << 20
)

// Pair is one paired device, identified by name and address together.
type Pair struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
	Since   time.Time  `json:"since"`
}

// Pairs is the list of paired devices, kept in a file. Every method reads the file again, so that changes of another process take effect at
// once. It is safe for concurrent use.
type Pairs struct {
	mu   sync.Mutex
	path string
	now  func() time.Time
}

// OpenPairs returns the list in a file. The file need not exist.
func OpenPairs(path string) *Pairs { return &Pairs{path: path, now: time.Now} }

// pairsFile is the format of the file.
type pairsFile struct {
	Devices []Pair `json:"devices"`
}

// List returns all pairs in order of creation.
func (p *Pairs) List() ([]Pair, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read()
}

// Knows reports whether a device is paired.
func (p *Pairs) Knows(name string, address netip.Addr) (bool, error) {
	pairs, err := p.List()
	return slices.ContainsFunc(pairs, func(known Pair) bool { return known.is(name, address) }), err
}

func (p Pair) is(name string, address netip.Addr) bool {
	return p.Name == name && machine(p.Address) == machine(address)
}

// machine normalizes an address: all loopback addresses are this machine.
func machine(address netip.Addr) netip.Addr {
	if address = address.Unmap().WithZone(""); address.IsLoopback() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return address
}

// Add pairs a device. An existing pair stays unchanged.
func (p *Pairs) Add(name string, address netip.Addr) error {
	if err := checkName(name); err != nil {
		return err
	}
	if !address.IsValid() || address.IsUnspecified() || address.IsMulticast() {
		return fmt.Errorf("%q is no address of a device; give the one that collet remote serve shows", address)
	}
	return p.change(func(pairs []Pair) ([]Pair, error) {
		if slices.ContainsFunc(pairs, func(known Pair) bool { return known.is(name, address) }) {
			return pairs, nil
		}
		if len(pairs) == maxPairs {
			return nil, fmt.Errorf("%d devices are remembered already; forget one with collet remote unpair", maxPairs)
		}
		return append(pairs, Pair{name, machine(address), p.now().UTC().Truncate(time.Second)}), nil
	})
}

// Remove removes the devices of a name at one address, or at any if address is not valid. It returns their number.
func (p *Pairs) Remove(name string, address netip.Addr) (removed int, err error) {
	err = p.change(func(pairs []Pair) ([]Pair, error) {
		kept := slices.DeleteFunc(slices.Clone(pairs), func(known Pair) bool {
			return known.is(name, address) || !address.IsValid() && known.Name == name
		})
		removed = len(pairs) - len(kept)
		return kept, nil
	})
	return removed, err
}

// checkName refuses names that are ambiguous on a terminal.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > wire.MaxName:
		return fmt.Errorf("name %q: want 1 to %d bytes", name, wire.MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("name %q is not UTF-8; give the device another name", name)
	}
	if !text.Visible(name) {
		return fmt.Errorf("name %q has characters that can't be shown; give the device another name", name)
	}
	return nil
}

// read reads the file; mu must be held.
func (p *Pairs) read() ([]Pair, error) {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPairsFile+1))
	if err != nil {
		return nil, err
	}
	pairs, err := decodePairs(data)
	if err != nil {
		return nil, fmt.Errorf("list of devices %q: %w; repair the file, or remove it and pair the devices again", p.path, err)
	}
	return pairs, nil
}

// decodePairs parses the file's content.
func decodePairs(data []byte) ([]Pair, error) {
	if len(data) > maxPairsFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPairsFile)
	}
	var file pairsFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Devices) > maxPairs {
		return nil, fmt.Errorf("it has more than %d devices", maxPairs)
	}
	for _, pair := range file.Devices {
		if err := checkName(pair.Name); err != nil {
			return nil, err
		}
		if !pair.Address.IsValid() {
			return nil, fmt.Errorf("the device %q has no address", pair.Name)
		}
	}
	return file.Devices, nil
}

// change replaces the file atomically by the result of change. Of two concurrent processes one may lose its change, but the file stays
// valid.
func (p *Pairs) change(change func([]Pair) ([]Pair, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pairs, err := p.read()
	if err != nil {
		return err
	}
	if pairs, err = change(pairs); err != nil {
		return err
	}
	text, err := json.MarshalIndent(pairsFile{pairs}, "", "  ")
	if err != nil {
		return err
	}
	dir, err := platform.OpenDir(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	return errors.Join(platform.WriteFile(dir, filepath.Base(p.path), append(text, '\n')), dir.Close())
}
