package install

// syncEarlierChanges syncs the changes of the previous process. It may have been killed between a change and its sync, and later
// operations rely on those changes. After a clean end, so with unclean false, it does so only in the states Prepared and RollingBack.
func (t *transaction) syncEarlierChanges(unclean bool) error {
	acts := t.journal.State == Prepared || t.journal.State == RollingBack
	if t.journal.Number == 0 || !unclean && !acts {
		return nil
	}
	for _, name := range []string{listsName(t.journal.slot), slotName(t.journal.slot)} {
		if err := syncFile(t.fs, name); err != nil {
			return err
		}
	}
	folders := map[string]bool{".": true, StateDir: true}
	for _, e := range t.journal.lists.Files {
		addFolders(folders, e.Live, e.part(), e.backup())
	}
	for _, u := range t.journal.lists.Undo {
		aside := u.entry()
		aside.Aside = true
		addFolders(folders, u.Live, aside.part(), aside.backup())
	}
	for _, folder := range []string{t.move.recycled(dropped), t.move.recycled(movedAside)} {
		addTree(t.fs, folders, folder)
	}
	return syncDirs(t.fs, folders)
}
