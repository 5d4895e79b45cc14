package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/build/advice"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
)

// SettingsFile is the name of the settings in a release folder.
const SettingsFile = "release.toml"

// maxSettings limits the settings file in bytes, far above any written by hand.
const maxSettings = 64 << 10

// Settings are the defaults of a release folder. A command's flags override them.
type Settings struct {
	Product string // the game's name in addresses: letters, digits, dot, dash and underscore
	Channel string // the default channel
	Keys    string // folder with key files, relative to the release folder
	Output  string // another place for publications: a folder, s3://bucket/prefix?endpoint=…, github://OWNER/REPO or oci://HOST/REPOSITORY; empty without one

	Outputs []string // several of them, in place of Output
	Quorum  int      // how many of them have to be brought up to date for a command to succeed; 0 is more than half

	Percent int  // of the clients that get a new release offered at once
	Patches int  // number of earlier releases from which patches are made
	Keep    int  // number of releases kept for each channel and target
	Plain   bool // whether the newest set of Channel also lies in the folder as plain files, for engine generations

	ChunkMinimum int64 // minimum size in bytes of a file that is cut into chunks; smaller files are only fetched whole
	PatchMemory  int64 // memory limit of the patch writer in MB of 2^20 bytes
	Effort       Effort
	Brotli       int64 // MB of the largest file that EffortBest packs with brotli; 0 disables brotli for every effort

	Compatibility string   // of the native module
	Logic         uint32   // logic version
	Components    string   // hash of the component set
	HostABI       uint32   // oldest working host ABI
	HostBuild     uint64   // oldest host build that can install it
	Mirrors       []string // addresses of release folders, best first
}

// DefaultSettings returns the settings of a new release folder, without a product.
func DefaultSettings() Settings {
	return Settings{
		Channel: "stable", Keys: "../keys", Percent: 100, Patches: 5, Keep: 10, Plain: true,
		ChunkMinimum: 1, PatchMemory: delta.DefaultPatchMemory >> 20, Effort: EffortBalanced, Brotli: 32,
	}
}

// settingsText is a new settings file. A test compares its values with DefaultSettings.
const settingsText = `# Settings of a release folder. collet release publish --help tells what each flag does that goes before them.
Product = %q
Channel = "stable"

# Folder with the key files, relative to this one. It is never uploaded; keep root keys elsewhere.
Keys = %q
# Where else a publication goes: a folder, s3://bucket/prefix?endpoint=host:port, github://OWNER/REPO or oci://HOST/REPOSITORY. Credentials
# come from the environment (docs/RELEASING.md).
Output = ""
# Several places, in place of Output, and how many of them have to be brought up to date (0: more than half).
# Outputs = []
# Quorum = 0

# Percent of the players that are offered a new release at once; collet release rollout raises it.
Percent = 100
# From how many earlier releases patches are made.
Patches = 5
# How many releases of each channel and target stay when collet release gc runs.
Keep = 10
# Whether the newest set of Channel also lies in the folder plain, as plain files, for servers of engine generations.
Plain = true

# Files of so many bytes and more are cut into chunks, the second way for clients that no patch fits. Small files share packs, so
# that thousands of them are few requests.
ChunkMinimum = 1
# MB of memory that making a patch may take: 60 and 14 for each MB of the largest module, old and new together. Larger modules are compared
# stretch by stretch, and their patches are several times as large.
PatchMemory = 1536
# How much processor time new files take: "fast", "balanced" or "best". Of a MB of text or code, fast takes 0.05 s of a processor,
# balanced 0.2 s, best 3 s. Whole files have about a tenth fewer bytes with balanced than with fast, and again with best.
# Patches are always made at the best quality.
# Effort = "balanced"
# MB of the largest file that Effort = "best" packs with brotli; larger ones take zstd. 0 is no brotli, for any effort.
Brotli = 32

# What the game needs. An empty Compatibility is any.
Compatibility = ""
Logic = 0
Components = ""
HostABI = 0
HostBuild = 0

# Addresses where players find this folder, best first.
Mirrors = []
`

// loadSettings reads the settings of a release folder. Unknown names are errors.
func loadSettings(fsys platform.FS) (Settings, error) {
	s := DefaultSettings()
	data, err := platform.ReadFile(fsys, SettingsFile, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return s, advice.Wrong("make it with collet release init, or name another one with --dir", "%s is no release folder: it has no %s", fsys.Path("."), SettingsFile)
	}
	if err != nil {
		return s, advice.Because(err, "", "read the settings")
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, advice.Because(tomlFault(err), "", "settings %s", fsys.Path(SettingsFile))
	}
	return s, s.check()
}

// tomlFault formats a TOML error on one line.
func tomlFault(err error) error {
	var strict *toml.StrictMissingError
	var decode *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		line, _ := strict.Errors[0].Position()
		return fmt.Errorf("line %d: unknown setting %s", line, strings.Join(strict.Errors[0].Key(), "."))
	case errors.As(err, &decode):
		line, _ := decode.Position()
		return fmt.Errorf("line %d: %w", line, err)
	default:
		return err
	}
}

// check reports values out of range.
func (s Settings) check() error {
	fault := ""
	switch {
	case s.Product == "":
		fault = "Product is empty"
	case s.Percent < 0 || s.Percent > 100:
		fault = "Percent is not 0 to 100"
	case s.Patches < 0 || s.Patches > release.MaxPatches:
		fault = fmt.Sprintf("Patches is not 0 to %d", release.MaxPatches)
	case s.Keep < 1 || s.Keep > release.MaxEntries:
		fault = fmt.Sprintf("Keep is not 1 to %d", release.MaxEntries)
	case s.Output != "" && len(s.Outputs) > 0:
		fault = "Output and Outputs are both set; name all places in Outputs"
	case slices.Contains(s.Outputs, ""):
		fault = "Outputs has an empty place"
	case s.Quorum < 0:
		fault = "Quorum is not 0 or more"
	case s.ChunkMinimum < 1:
		fault = "ChunkMinimum is not 1 or more"
	case s.Brotli < 0 || s.Brotli > chunk.DefaultMaxBrotli>>20:
		fault = fmt.Sprintf("Brotli is not 0 to %d MB", int64(chunk.DefaultMaxBrotli)>>20)
	case s.PatchMemory < 128:
		fault = "PatchMemory is less than 128 MB"
	}
	if _, err := s.Effort.chunkEffort(); err != nil && fault == "" {
		fault = err.Error()
	}
	if fault != "" {
		return advice.Wrong("", "%s: %s", SettingsFile, fault)
	}
	return nil
}

// Places are the other places for publications.
func (s Settings) Places() []string {
	if s.Output != "" {
		return []string{s.Output}
	}
	return s.Outputs
}

// maxBrotli returns Settings.Brotli in bytes, as chunk.PackObjectOptions takes it.
func (s Settings) maxBrotli() int64 {
	if s.Brotli == 0 {
		return -1
	}
	return s.Brotli << 20
}
