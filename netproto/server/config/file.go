package config

import (
	"bytes"
	"collet/platform"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxSettingsFile is the largest settings file in bytes. Usual ones have a few hundred; the cap bounds the read of a wrong path
// (a pack, a log).
const maxSettingsFile = 1 << 20

// Error says which setting is wrong, its position, and the expected value. The operator can fix it.
type Error struct {
	File string // as given; empty without a settings file
	Line int    // 1-based; 0 for none
	Key  string // full name, for example "Network.ServerPort"; empty for a fault of the whole file
	Text string // the fault and the expected value
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Text
}

// layer is one layer of settings: the file's own, or a sub-config. A nil field is not set in it.
type layer struct {
	CompatibilityVersion *string
	Network              struct {
		ServerPort               *int64
		TlsPort                  *int64
		WebSocketPort            *int64
		SecuredWebSockets        *bool
		UpdateFileMaxPortionSize *int64
		DisableZlibCompression   *bool
		CongestionControl        *string
		SpreadConnections        *int64
		ForceMetadataVersion     *string
	}
	ServerNetwork struct {
		TlsCertificate      *string
		TlsPrivateKey       *string
		WssCertificate      *string
		WssPrivateKey       *string
		UpdateFilesInMemory *bool
	}
	Baking struct {
		PlatformBinaries      *string
		ClientResources       *string
		CacheResources        *string
		ClientResourceEntries *[]string
	}
	Release    releaseLayer
	Limits     limitsLayer
	Operations operationsLayer
	SignIn     signInLayer
	Compat     compatLayer
	Cluster    clusterLayer
}

// overlay is one [SubConfig.<name>]: its settings replace those of the file and of its Parent.
type overlay struct {
	layer
	Parent *string
}

// document is a whole settings file.
type document struct {
	layer
	SubConfig map[string]*overlay
}

// Load reads a TOML settings file: the defaults, then the file's own settings, then those of the chosen [SubConfig.<name>] after
// those of its parents. subConfig "" selects none. Folders are relative to the file's folder. Errors are *Error, several of them
// joined, or the system's error if the file can't be read.
func Load(path, subConfig string) (Settings, error) {
	set, _, err := LoadWithOrigins(path, subConfig)
	return set, err
}

func loadSettings(path, subConfig string) (Settings, sources, places, error) {
	data, err := readSettings(path)
	if err != nil {
		return Settings{}, nil, nil, err
	}
	var doc document
	decoder := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return Settings{}, nil, nil, decodeFault(path, err)
	}
	places := placesOf(data)
	chain, err := doc.chain(path, places, subConfig)
	if err != nil {
		return Settings{}, nil, nil, err
	}
	set := Defaults()
	sources := sources{}
	sources.apply(&set, &doc.layer, "")
	for _, name := range chain {
		sources.apply(&set, &doc.SubConfig[name].layer, subConfigPrefix+name+".")
	}
	if err := set.Validate(); err != nil {
		return Settings{}, nil, nil, locate(err, path, places, sources)
	}
	set.Baking.resolve(filepath.Dir(path))
	set.ServerNetwork.resolve(filepath.Dir(path))
	set.Operations.resolve(filepath.Dir(path))
	set.SignIn.resolve(filepath.Dir(path))
	set.Release.resolve(filepath.Dir(path))
	set.Compat.resolve(filepath.Dir(path))
	set.Cluster.resolve(filepath.Dir(path))
	return set, sources, places, nil
}

func readSettings(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("settings file %q: %w", path, platform.Reason(err))
	}
	if info.IsDir() || info.Size() > maxSettingsFile {
		return nil, &Error{File: path, Text: fmt.Sprintf("is no settings file: want TOML of at most %d bytes", maxSettingsFile)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("settings file %q: %w", path, platform.Reason(err))
	}
	return data, nil
}

const subConfigPrefix = "SubConfig."

// chain lists the overlays to apply, the farthest parent first.
func (d *document) chain(file string, places places, name string) ([]string, error) {
	var chain []string
	asked := subConfigPrefix + name
	for name != "" {
		o, known := d.SubConfig[name]
		if !known || o == nil {
			return nil, &Error{File: file, Line: places.lineOf(asked), Key: asked, Text: d.unknownSubConfig(name)}
		}
		if slices.Contains(chain, name) {
			return nil, &Error{File: file, Line: places.lineOf(asked), Key: asked, Text: fmt.Sprintf("%q is a parent of itself", name)}
		}
		chain = append(chain, name)
		if o.Parent == nil {
			break
		}
		asked, name = subConfigPrefix+name+".Parent", *o.Parent
	}
	slices.Reverse(chain)
	return chain, nil
}

func (d *document) unknownSubConfig(name string) string {
	if len(d.SubConfig) == 0 {
		return fmt.Sprintf("no sub-config %q: the file has none", name)
	}
	names := slices.Sorted(maps.Keys(d.SubConfig))
	return fmt.Sprintf("no sub-config %q%s; the file has %s", name, DidYouMean(name, names), strings.Join(names, ", "))
}

// sources maps a setting's full name to the layer that set it: "" is the file itself.
type sources map[string]string

// apply copies the values of a layer into set.
func (s sources) apply(set *Settings, l *layer, prefix string) {
	setValue(s, prefix, "CompatibilityVersion", &set.CompatibilityVersion, l.CompatibilityVersion)
	setInt(s, prefix, "Network.ServerPort", &set.Network.ServerPort, l.Network.ServerPort)
	setInt(s, prefix, "Network.UpdateFileMaxPortionSize", &set.Network.UpdateFileMaxPortionSize, l.Network.UpdateFileMaxPortionSize)
	setValue(s, prefix, "Network.DisableZlibCompression", &set.Network.DisableZlibCompression, l.Network.DisableZlibCompression)
	setValue(s, prefix, "Network.CongestionControl", &set.Network.CongestionControl, l.Network.CongestionControl)
	setInt(s, prefix, "Network.SpreadConnections", &set.Network.SpreadConnections, l.Network.SpreadConnections)
	s.applyTransport(set, l, prefix)
	setValue(s, prefix, "Network.ForceMetadataVersion", &set.Network.ForceMetadataVersion, l.Network.ForceMetadataVersion)
	setValue(s, prefix, "ServerNetwork.UpdateFilesInMemory", &set.ServerNetwork.UpdateFilesInMemory, l.ServerNetwork.UpdateFilesInMemory)
	setValue(s, prefix, "Baking.PlatformBinaries", &set.Baking.PlatformBinaries, l.Baking.PlatformBinaries)
	setValue(s, prefix, "Baking.ClientResources", &set.Baking.ClientResources, l.Baking.ClientResources)
	setValue(s, prefix, "Baking.CacheResources", &set.Baking.CacheResources, l.Baking.CacheResources)
	setValue(s, prefix, "Baking.ClientResourceEntries", &set.Baking.ClientResourceEntries, l.Baking.ClientResourceEntries)
	s.applyRelease(&set.Release, &l.Release, prefix)
	s.applyLimits(&set.Limits, &l.Limits, prefix)
	s.applyOperations(&set.Operations, &l.Operations, prefix)
	s.applySignIn(&set.SignIn, &l.SignIn, prefix)
	s.applyCompat(&set.Compat, &l.Compat, prefix)
	s.applyCluster(&set.Cluster, &l.Cluster, prefix)
}

func setValue[T any](s sources, prefix, key string, to, from *T) {
	if from != nil {
		*to, s[key] = *from, prefix
	}
}

// setInt converts to int. A number that int can't hold becomes -1, which is out of every setting's range.
func setInt(s sources, prefix, key string, to *int, from *int64) {
	if from == nil {
		return
	}
	*to, s[key] = int(*from), prefix
	if int64(*to) != *from {
		*to = -1
	}
}

// locate adds file and line to the errors of Validate.
func locate(err error, file string, places places, from sources) error {
	if several, is := err.(interface{ Unwrap() []error }); is {
		var located []error
		for _, one := range several.Unwrap() {
			located = append(located, locate(one, file, places, from))
		}
		return errors.Join(located...)
	}
	var fault *Error
	if !errors.As(err, &fault) {
		return err
	}
	located := *fault
	located.File = file
	if prefix, set := from[fault.Key]; set {
		located.Line = places.lineOf(prefix + fault.Key)
		located.Key = prefix + fault.Key
	}
	return &located
}
