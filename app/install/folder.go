package install

import (
	"github.com/rs/zerolog"

	"collet/platform"
)

// folder is an install folder as its parts share it. The parts have the state.
type folder struct {
	fs      platform.FS
	base    platform.FS // a read-only folder below; may be nil
	names   Names
	log     zerolog.Logger
	hash    *hasher
	journal *Journal
	missing func() int64 // bytes that the current plan still lacks
}

// fault is FaultOf for this folder. Without an error it counts no missing bytes: that visits every file of the plan, and each write of
// each file ends here.
func (f *folder) fault(err error) error {
	if err == nil {
		return nil
	}
	return FaultOf(f.fs, f.missing(), err)
}

// loadLists reads the lists that a clean journal left unread. Lists that were damaged since then only cost the time they
// would have saved.
func (f *folder) loadLists() error {
	ok, err := f.journal.load(f.fs)
	if err == nil && !ok {
		f.log.Warn().Msg("the list of the installed set is damaged; the set counts as unknown")
		f.journal.loaded, f.journal.events = true, nil
	}
	return err
}
