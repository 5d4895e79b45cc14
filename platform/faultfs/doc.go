// Package faultfs is a volume in memory that simulates power cuts: a platform.FS with reproducible faults of a disk. Only tests and the
// QA kit use it. It passes the conformance suite of package fstest, as the disk does.
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
// While the machine runs, every process sees every change at once, synced or not. Disk.Open starts a process, FS.Kill or a stop ends it.
// Then its files are closed and its locks released, and its writes are kept. A file without a name exists, and takes space, while a
// process has it open. Permissions are those of an ordinary user: without the owner's write bit a file can't be written, and the names in
// a folder can't be changed.
//
// # What survives a power cut
//
// Disk.Crash returns a volume as the next boot may find it. It does not change the disk, so that one state can have any number of cuts.
// A Cut has two shares, of unsynced data and of unsynced names, and a seed for the choices of shares from 1 to 99 %. One cut of one state
// gives one result. For file content:
//
//   - Data before a successful File.Sync survives every cut, under any later name of the file.
//   - Of later writes, 0 % keeps nothing and 100 % everything. In between, one behaviour of real systems is drawn for each file: all
//     or nothing; everything up to a moment, with a torn write at the end and the length of before or after it; each page of 4096 or
//     sector of 512 bytes as of a separate moment, so that later writes survive without earlier ones; each write completely or not at
//     all; the new length with zeros in it.
//   - Other bytes than those written to the file, or zeros, never appear in it.
//   - After a failed Sync its data stays uncertain, even if a later Sync succeeds: systems report such an error once and drop the
//     pages. Later writes are as safe as usual.
//
// For names, where creating, removing, renaming, linking, exchanging and making folders are changes of names:
//
//   - FS.SyncDir of a folder makes all earlier changes of names in it durable. A rename or exchange between two folders needs both
//     synced. The folder's own place becomes durable with the folders above it.
//   - An unsynced change survives completely or not at all: 0 % keeps none, 100 % all. After a rename the file never has both names or
//     neither; an exchange never leaves one name twice.
//   - By default changes survive in order, as with a journal: the earliest ones in each folder. Some seeds draw one moment for all
//     folders, as with one journal, some draw one for each. With Cut.Unordered each change survives by chance; only earlier changes of
//     the same name, and changes that it depends on, must survive with it.
//   - Syncing a file does not sync its name: a new file that was synced is lost if its folder was not synced.
//   - Names and content are independent: a rename may survive without the bytes of the renamed file.
//   - Permission bits and times are durable with the next sync of the file or folder.
//
// Locks, open files and processes do not survive. Inode numbers survive, and are never used twice. A Crash of the result of a Crash
// changes nothing.
//
// # Every stop of a process
//
// The operations that change something, or make a change durable, are counted from 1 for each process, in the order in which they begin
// (Op.Changes; with Options.Reads all calls are). FS.Ops lists them. A process can be stopped before operation k, inside of it (half of a
// write arrives) and after it, before the caller gets the result. To enumerate the crash points of an operation, run it once on a Clone
// and take Count. Then, for each k in 1 … Count and each of the three stops, run it on a fresh Clone, Crash that disk with each share and
// seed, and check the next start. Clones and cuts share content and cost microseconds. For a stop during recovery, do the same with the
// result of Crash. The operation has to be deterministic for this; Op.Label names the operation of a k.
//
// # Faults
//
// FS.Inject adds a Rule: verb, names, first matching call, number of failures, and error. A failed call has no effect on the disk, with
// three exceptions: a Late fault has the full effect, Short lets some bytes of a read or write through, and Bytes lets calls through up
// to a number of bytes. FS.FailAt fails one operation by its number. The errors are those of the systems: ENOSPC, EIO, EBUSY, EXDEV and so
// on, and Windows' 5, 19, 32, 33, 112 and 1224, which platform.IsDiskFull and similar functions recognize on every system.
//
// Config.Capacity is the space for content: a write that exceeds it stores what fits and returns ENOSPC. Disk.SetFree changes it at any
// time, and Disk.ClaimFree makes Free return another number. Names take no space. Options.Before and After are called around each counted
// operation, for everything else: interfering processes, files that vanish once they are written, power cuts at a certain moment.
//
// Config can also give a volume properties of other systems: no exchange, no inodes, or case folding.
package faultfs
