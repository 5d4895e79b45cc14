package publish

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/release/trust"
	"collet/platform"
)

// letters are the characters allowed in names that occur in addresses.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// CheckKeys reports whether keys reach the thresholds of roles, before work starts that could not be signed. A proposal needs no key.
func (f *Folder) CheckKeys(keys []*trust.PrivateKey, roles ...trust.KeyRole) error {
	if f.options.Propose != nil {
		return nil
	}
	info := f.repo.RootInfo()
	for _, role := range roles {
		have := map[string]bool{}
		for _, k := range keys {
			if id := k.Public().ID(); slices.Contains(info.Roles[role].Keys, id) {
				have[id] = true
			}
		}
		if need := info.Roles[role].Threshold; len(have) < need {
			return advice.Because(&trust.KeysError{Role: role, Have: len(have), Need: need}, "name the folder with the keys of this release folder with --keys", "release folder %s", f.fs.Path("."))
		}
	}
	return nil
}

// Init creates a release folder: settings, unless they exist, and signed lists without a release. keys must reach the threshold of every
// role, which plan names. keysFolder is where the settings say the keys are, relative to the release folder; empty is DefaultSettings'.
func Init(fsys platform.FS, product, keysFolder string, plan trust.RootPlan, keys []*trust.PrivateKey, o Options) (err error) {
	f, err := openRepo(fsys, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := fsys.Lstat(SettingsFile); errors.Is(err, fs.ErrNotExist) {
		if product == "" || strings.Trim(product, letters) != "" || product[0] == '.' || product[0] == '-' {
			return advice.Wrong("name it with --product", "product %q: want letters, digits, dot, dash and underscore, and not a dot or dash first", product)
		}
		if err := platform.WriteFile(fsys, SettingsFile, fmt.Appendf(nil, settingsText, product, cmp.Or(keysFolder, DefaultSettings().Keys))); err != nil {
			return advice.Because(err, room(err), "write the settings")
		}
	}
	if f.settings, err = loadSettings(fsys); err != nil {
		return err
	}
	if _, err := trust.CreateRepo(store{fsys}, plan, keys, trust.RepoOptions{Now: f.options.Now, Allow: o.Allow}); err != nil {
		return advice.Because(err, room(err), "set up the release folder %s", fsys.Path("."))
	}
	return nil
}
