// Package faultfs is a volume in memory that can lose its power: platform.FS with everything that goes wrong on a disk, on
// demand and the same every time. Tests, the QA kit and nothing that a player runs stand on it. It passes the conformance
// suite of package fstest, as the disk does.
//
//	disk := faultfs.New(faultfs.Config{})            // the volume, which outlives processes and power cuts
//	fsys := disk.Open(faultfs.Options{})             // a process that uses it; platform.FS
//	fsys.StopAfter(7)                                // … and that ends with its seventh operation
//	update(fsys)                                     // every call from there on returns ErrStopped
//	again := disk.Open(faultfs.Options{})            // the process was killed: what it wrote is all there
//	after := disk.Crash(faultfs.Keep(50, seed))      // the machine stopped: a volume that holds what survived
//	next := after.Open(faultfs.Options{})            // the next start
//
// # What a reader sees
//
// While the machine runs everybody sees every change at once, whoever made it and whether it was synced or not. Processes
// come and go: Disk.Open starts one, FS.Kill or a stop ends it. Its files are closed and its locks are free then, and
// nothing it wrote is lost. A file without a name lives, and takes room, as long as somebody has it open. Permissions are
// those of an ordinary user: what lacks the owner's write bit can't be written, and no name in such a folder can change.
//
// # What survives a power cut
//
// Disk.Crash answers what the next boot may find. It leaves the disk alone, so that any number of cuts can be looked at in
// one state. A Cut has two shares, of unsynced data and of unsynced names, and a seed for what shares of 1 … 99 % leave
// open. One cut of one state gives one result. For file content:
//
//   - What File.Sync returned for survives every cut, under whatever name the file then has.
//   - Of what was written since then, 0 % keeps nothing and 100 % all. Between them one of the ways of real systems is
//     drawn for each file: all or nothing; all up to a moment, with a torn write at the end and the length of before or
//     after it; each page of 4096 or sector of 512 bytes as of a moment of its own, so that later writes survive without
//     earlier ones; each write or none of it; and the new length with zeros in it.
//   - Bytes that nobody wrote to the file do not come up in it, other than zeros.
//   - After a Sync that failed, what it was asked for stays uncertain for ever, also when a later Sync succeeds: systems
//     report such an error once and give the pages up. What was written after it is as safe as ever.
//
// For names, where creating, removing, renaming, linking, exchanging and making folders are changes of names:
//
//   - FS.SyncDir of a folder makes all changes of names in it durable that came before it. A rename or exchange between two
//     folders wants both synced. Whether the folder itself has a durable place is up to the folders above it.
//   - A change that was not synced survives or does not: 0 % keeps none, 100 % all. It never survives in part: a rename is
//     never both names or neither, an exchange never one name twice.
//   - In order, as file systems with a journal do it: what survives is what was changed first, in each folder; some seeds
//     draw one moment for all folders, as one journal has it, some draw one for each. With Cut.Unordered each change has
//     its own luck; only a change of the same name, and what it cannot exist without, come first.
//   - Syncing a file does not sync its name: a new file that was synced is gone if its folder was not.
//   - Names and content know nothing of each other: a rename may survive when the bytes of the renamed file did not.
//   - Permission bits and times are durable with the next sync of the file or folder.
//
// Locks, open files and processes survive nothing. Inode numbers survive, and are never used twice. Crash of what came out
// of a Crash changes nothing.
//
// # Every stop of a process
//
// The operations that change something, or make a change durable, are counted from 1 for each process, in the order in
// which they begin (Op.Changes; with Options.Reads all calls are). FS.Ops lists them. A process can be stopped before
// operation k, inside of it (half of a write arrives) and after it, before its caller learns. To enumerate the crash
// points of some work: run it once on a Clone and take Count; then for each k in 1 … Count and each of the three stops, run
// it on a fresh Clone, Crash that disk with each share and seed, and look at what the next start makes of it. Clones and
// cuts share content and cost microseconds. For a stop within the recovery, do the same with what Crash returned. Work has
// to be deterministic for this; Op.Label tells which operation a k stands for.
//
// # Faults
//
// FS.Inject adds a Rule: which verb, which names, from which matching call on, how often, and with which error. A fault has
// no effect on the disk, unless it is Late, when the call did its work and fails all the same, or Short, when so many bytes
// of a read or write still went through, or counts Bytes, when the fault begins at a byte. FS.FailAt fails one operation
// by its number. The errors are those of the systems: ENOSPC, EIO, EBUSY, EXDEV and so on, and Windows' 5, 19, 32, 33, 112
// and 1224, which platform.IsDiskFull and its like understand on every system.
//
// Config.Capacity is the room for content: a write that finds less stores what fits and returns ENOSPC. Disk.SetFree
// changes it at any time, and Disk.ClaimFree lets Free lie. Names take no room. Options.Before and After are called around
// each counted operation, for everything else: other processes that interfere, files that vanish once they are written,
// power cuts at a certain moment.
//
// Config also gives a volume the manners of a system: one that can't exchange, tells no inodes, or folds case.
package faultfs
