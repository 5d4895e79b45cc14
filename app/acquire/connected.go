package acquire

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"collet/netproto/compat"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// connected is the result of connecting: the release to install, beside the installed one. It is a value and is only read afterwards.
type connected struct {
	installed installedRelease // zero: unknown
	old       release.Listing  // of the installed release; nil is unknown
	head      release.Head     // of the release to install
	listing   release.Listing  // of the release to install; nil: nothing may be fetched
	renewing  bool             // only this program is offered
	blocked   bool             // the offered release was rolled back here: the installed one stays, and is repaired
	expansion *expansion       // what the expanded set patch says; nil until it was read
}

// files are the files of the offered set, or only those of this program.
func (c connected) files(disk Disk) []release.File {
	if c.renewing {
		return c.hosts(disk)
	}
	return c.listing.Files()
}

// hosts are the host's files of the listing that belong to this install.
func (c connected) hosts(disk Disk) (files []release.File) {
	for i, f := range c.listing.Files() {
		if c.listing[i].Use == release.UseHost && disk.Manages(f) {
			files = append(files, f)
		}
	}
	return files
}

// modules are the native modules of the listing that belong to this install.
func (c connected) modules(disk Disk) (files []release.File) {
	for i, f := range c.listing.Files() {
		if c.listing[i].Use == release.UseRuntime && disk.Manages(f) {
			files = append(files, f)
		}
	}
	return files
}

// patch is the set patch for the installed release, unless it has failed too often.
func (c connected) patch(failed failures) (release.Object, bool) {
	if c.old == nil {
		return release.Object{}, false
	}
	o, found := c.head.PatchFrom(c.installed.Listing.Sum)
	return o, found && failed.may(o.Sum, Patched)
}

// keepsInstalled reports whether the installed release stays: it is the offered one, or no longer listed, or the offered one is blocked,
// or the metadata is not fresh, so that newer releases may be withheld.
func (c connected) keepsInstalled(answer trusted) bool {
	if c.old == nil {
		return false
	}
	return c.blocked || !answer.Fresh || !answer.Listed || answer.Number == c.installed.Number && answer.Head == release.Object(c.installed.Head)
}

// entry is the entry of the release to use: the installed or the offered one.
func (c connected) entry(answer trusted) release.Entry {
	if !c.keepsInstalled(answer) {
		return answer.Entry
	}
	return release.Entry{
		Product: c.installed.Product, Channel: c.installed.Channel, Target: c.installed.Target, Number: c.installed.Number, Head: release.Object(c.installed.Head),
	}
}

// judgement is the verdict for the offered release. server is the verdict of a server that was reached, else nil: its reasons belong to
// its verdict. lacksModule says that a native module is missing or damaged on the disk. A server that calls the installed release outdated
// has nothing better for an install that blocks the offered one.
func (c connected) judgement(server *compat.Judgement, lacksModule bool) compat.Judgement {
	j := compat.Judgement{Verdict: compat.Accept, Compatibility: c.head.Compatibility}
	outdated := server != nil && server.Verdict == compat.UpdateBinaries && !c.blocked
	if server != nil {
		j.Warnings, j.Age, j.Revision = server.Warnings, server.Age, server.Revision
	}
	if outdated {
		j.Rule, j.Reasons, j.Floor, j.MinPatch = server.Rule, server.Reasons, server.Floor, server.MinPatch
	}
	switch {
	case c.renewing:
		j.Verdict = compat.UpdateResources
	case lacksModule || outdated:
		j.Verdict = compat.UpdateBinaries
	case c.head.Listing.Sum != c.installed.Listing.Sum:
		j.Verdict = compat.UpdateResources
	}
	return j
}

// openSimilar opens local files that may have chunks of a file: those of its name, and removed files of the old set that a new file may
// derive from.
func (c connected) openSimilar(disk Disk, file release.File) (files []delta.SetFile) {
	add := func(file delta.SetFile, _ int64) { files = append(files, file) }
	disk.OpenVersions(file, add)
	if _, stays := c.old.Find(file.Path); stays {
		return files
	}
	for _, i := range Ancestors(c.old, c.listing, release.ListedFile{Path: file.Path, Size: file.Size}) {
		disk.OpenVersions(release.Listing{c.old[i]}.Files()[0], add)
	}
	return files
}

// transfers reports whether the client goes on with an update after a server's verdict.
func transfers(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}

// hasFile reports whether the install has exactly this file. The error is that of ctx.
func hasFile(ctx context.Context, disk Disk, f release.File) (bool, error) {
	file, err := disk.OpenExact(ctx, f)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, file.Close()
}

// lacksFile reports whether one of the files is missing or damaged in the install. The error is that of ctx.
func lacksFile(ctx context.Context, disk Disk, files []release.File) (bool, error) {
	for _, f := range files {
		if there, err := hasFile(ctx, disk, f); err != nil || !there {
			return err == nil, err
		}
	}
	return false, nil
}

const (
	// resembling is how many resources of a set must be on the disk, beside its modules, for the set to count as installed.
	// resemblingSize is the largest resource in bytes that is hashed for that.
	resembling     = 4
	resemblingSize = 16 << 20
)

// matchesDisk reports whether the disk has the modules of a set and its smallest resources.
func matchesDisk(ctx context.Context, disk Disk, list release.Listing) (bool, error) {
	probes := connected{listing: list}.modules(disk)
	var resources []release.File
	for i, f := range list.Files() {
		if list[i].Use != release.UseRuntime && f.Role == release.Resource && f.Size > 0 && f.Size <= resemblingSize && disk.Manages(f) {
			resources = append(resources, f)
		}
	}
	slices.SortStableFunc(resources, func(a, b release.File) int { return cmp.Compare(a.Size, b.Size) })
	probes = append(probes, resources[:min(len(resources), resembling)]...)
	lacks, err := lacksFile(ctx, disk, probes)
	return len(probes) > 0 && !lacks && err == nil, err
}
