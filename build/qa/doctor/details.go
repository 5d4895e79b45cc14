package doctor

import (
	"cmp"
	"time"

	"collet/app/install/inspect"
	"collet/build/qa/fileset"
	"collet/platform/text"
)

// details writes the parts that Summary omits, for support.
func (p *sheet) details() {
	i := &p.d.Install
	p.printLine("")
	p.printLine("Where")
	p.item("host", "%s, by %v", p.d.Host, p.d.Clues)
	p.item("settings", "%s", cmp.Or(p.d.Settings, "none"))
	p.item("packaged", "%s", cmp.Or(p.d.Packaged, "no"))
	p.item("folders", "packs in %s, cache in %s", i.Names.Resources, i.Names.Cache)
	p.item("selector", "%s", cmp.Or(p.d.Selector, "none"))
	p.item("boot", "%s", cmp.Or(p.d.BootID, "unknown"))
	for _, a := range p.d.Access {
		p.item("access", "%s %s %s", a.Mode, a.Name, cmp.Or(a.Fault, "may be written"))
	}
	if !i.Opened.IsZero() {
		p.item("open mark", "there since %s", i.Opened.Format(time.RFC3339))
	}
	p.journal()
	p.files()
	p.others()
	p.printLine("")
	p.printLine("Log, last lines")
	for _, line := range p.d.Log {
		p.printLine("  %s", line)
	}
}

// journal writes both slots with their records.
func (p *sheet) journal() {
	p.printLine("")
	p.printLine("Journal")
	for n, s := range p.d.Install.Slots {
		if s.Size < 0 {
			p.printLine("  %s is not there", s.Name)
			continue
		}
		counts := ""
		if n == p.d.Install.Slot {
			counts = ", counts"
		}
		p.printLine("  %s: %d bytes, %d valid%s%s", s.Name, s.Size, s.Valid, counts, wrap(s.Torn, "; then ", ""))
		for _, r := range s.Records {
			p.printLine("    %s", r)
		}
		switch {
		case s.Lists.Size < 0:
			p.printLine("    %s is not there", s.Lists.Name)
		case s.Lists.Right():
			p.printLine("    %s: %d bytes, right", s.Lists.Name, s.Lists.Size)
		default:
			p.printLine("    %s: %d bytes, is %s%s", s.Lists.Name, s.Lists.Size, cmp.Or(s.Lists.Found, s.Lists.Error),
				wrap(s.Lists.Want, ", the slot names ", ""))
		}
	}
	for _, t := range p.d.Install.Tries {
		p.printLine("  set %s: swapped %d, begun %d, failed %d, blocked %t%s", t.Set, t.Swaps, t.Begun, t.Failed, t.Blocked,
			wrap(t.Cause, ", last cause: ", ""))
	}
}

// wrap wraps a non-empty text with before and after.
func wrap(text, before, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

// files writes the set, staged files, and former parts of the set.
func (p *sheet) files() {
	i := &p.d.Install
	list := func(title string, files []inspect.FileState) {
		if len(files) == 0 {
			return
		}
		p.printLine("")
		p.printLine("%s", title)
		for _, f := range files {
			p.printLine("  %-9s %12d %s %s%s%s%s%s", f.Found, f.Size, fileset.ShortDigest(f.Digest), f.Name, wrap(f.At, " in ", ""),
				wrap(f.Part, ", part ", ""), wrap(f.Staged, ", staged ", ""), wrap(f.Backup, ", backup ", ""))
		}
	}
	list("Live set", i.Files)
	list("Update that is not live", i.Transaction)
	list("Kept of the last proven set", i.Backups)
	list("Damaged after the next start, until the server was asked", i.Next.Damaged)
	if len(i.Parts) > 0 {
		p.printLine("")
		p.printLine("On their way")
	}
	for _, part := range i.Parts {
		percent := 100
		if part.Size > 0 {
			percent = int(max(part.Have, 0) * 100 / part.Size)
		}
		p.printLine("  %3d %% of %12d %s %s%s", percent, part.Size, fileset.ShortDigest(part.Digest), part.Name, wrap(part.Found, ", ", ""))
	}
}

// others writes the files outside the set.
func (p *sheet) others() {
	i := &p.d.Install
	p.printLine("")
	p.printLine("Beside the set")
	p.printLine("  hash cache %s: %s, %d lines, vouches for %d files of the set; beside it %d files, %s",
		i.Cache.Name, i.Cache.State, i.Cache.Lines, i.Cache.Known, i.Cache.Others.Files, text.Bytes(i.Cache.Others.Bytes))
	p.printLine("  recycler: %d files, %s", i.Recycler.Files, text.Bytes(i.Recycler.Bytes))
	p.printLine("  others: %d files, %s", i.StrayTally.Files, text.Bytes(i.StrayTally.Bytes))
	for _, s := range i.Strays {
		p.printLine("    %-8s %12d %s", s.What, s.Size, s.Name)
	}
	if len(i.Next.Actions) > maxSteps {
		p.printLine("")
		p.printLine("All steps of the next start")
		for _, step := range i.Next.Actions {
			p.printLine("  %s", stepText(step))
		}
	}
}
