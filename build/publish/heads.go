package publish

import (
	"maps"
	"slices"

	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// headWriter writes the heads of releases and the lists that they name.
type headWriter struct {
	store    *objectStore
	releases *releases
}

// putLists writes the objects that every head names.
func (w *headWriter) putLists(h *release.Head, to *releaseLists, notes map[string][]byte) error {
	packed, ref, err := to.listing.Pack()
	if err != nil {
		return err
	}
	if _, err := w.store.putObject(packed); err != nil {
		return err
	}
	h.Listing = ref
	if packed, h.Sources, err = to.sources.Pack(); err != nil {
		return advice.Because(err, "", "list of sources for %s", h.Target)
	}
	if _, err := w.store.putObject(packed); err != nil {
		return err
	}
	to.sum, to.packed = ref.Sum, ref.Object.Size+h.Sources.Size
	if err := w.putDeltaIndex(h, to); err != nil {
		return err
	}
	for _, language := range slices.Sorted(maps.Keys(notes)) {
		if len(notes[language]) > release.MaxNote {
			return advice.Wrong("shorten them", "release notes in %s have %d bytes, more than %d", language, len(notes[language]), release.MaxNote)
		}
		o, err := w.store.putObject(notes[language])
		if err != nil {
			return err
		}
		if h.Notes == nil {
			h.Notes = map[string]release.Object{}
		}
		h.Notes[language] = o
	}
	return nil
}

// putDeltaIndex writes the delta index of a release against earlier ones of its channel and target, where the lists are large.
func (w *headWriter) putDeltaIndex(h *release.Head, to *releaseLists) error {
	h.Changes, to.changes, to.object = release.Object{}, nil, release.Object{}
	if to.packed < minChangedLists {
		return nil
	}
	last, steps := w.releases.changeSteps(*to)
	data, err := delta.EncodeChanges(steps, to.listing, to.sources, to.packed*changesShare/100)
	if err != nil {
		return advice.Because(err, "run collet release verify", "what changed in the release for %s", h.Target)
	}
	if data == nil {
		return nil
	}
	if to.changes, err = delta.ReadChangesTable(data); err == nil && last != nil {
		_, _, err = to.changes.Apply(data, last.listing, last.sum, to.sum) // as a client does, so that a wrong index is never published
	}
	if err != nil {
		return advice.Because(err, "report this", "what changed from release %d to %d for %s does not apply", last.entry.Number, h.Number, h.Target)
	}
	h.Changes, err = w.store.putObject(data)
	to.object = h.Changes
	return err
}

// putHead writes a head.
func (w *headWriter) putHead(h release.Head) (release.Entry, error) {
	data, err := h.Encode()
	if err != nil {
		return release.Entry{}, advice.Because(err, "check the settings and flags", "release %d for %s", h.Number, h.Target)
	}
	o := release.ObjectOf(data)
	e := release.Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number, Head: o}
	return e, w.store.putAs(data, o, o.HeadPath(), nil)
}
