package install

import "context"

// Library is the absolute path of the live module, which may not exist.
func (c *Contents) Library() string { return c.fs.Path(c.names.Library()) }

// Packs is the absolute path of the folder of the packs.
func (c *Contents) Packs() string { return c.fs.Path(c.names.Resources) }

// HasLibrary reports whether the live module exists.
func (c *Contents) HasLibrary() bool {
	there, err := exists(c.fs, c.names.Library())
	return there && err == nil
}

// RollBack restores the last proven set, as after too many failed starts. Without a pending set it does nothing.
func (h *Health) RollBack(ctx context.Context) error {
	if !h.Pending() {
		return nil
	}
	return h.tx.fault(h.tx.rollBack(ctx, blockSet))
}

// SyncAlone is the size in bytes from which a part is synced by itself.
const SyncAlone = syncAlone
