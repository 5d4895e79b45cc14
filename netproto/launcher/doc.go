// Package launcher is the Remote Launcher protocol on top of the transport of package den: a desk, which owns a working
// copy, puts it on devices, starts the game there and reads its log; a device follows. Both roles are here, Desk and
// Device, and what they share: the messages, the rules for paths, and Tree, which knows what lies in a folder.
//
// # Messages
//
// Every application message of den is one message here: its code in the first byte, then its fields in the order of its
// code method, little endian, without padding. Bytes behind the last field are ignored, and so are messages with codes
// that nobody knows or that come from the wrong side: Decode returns Unknown for them. A message that ends inside a
// field, or declares more than the caps of this package allow, is a *FormatError and the fault of the peer.
//
// There are two dialects, which cannot be told apart on the wire, so that the user chooses. Released is what every
// released program speaks. Draft is what seed 003 describes, from before the first release:
//
//	            Released                                   Draft
//	4 layout    one message with all files                 one message a file, flags 1 = last, 2 = empty
//	6 hashes    one message with all hashes                one message a block, flags 1 = last, 2 = empty
//	11 data     a whole block                              a part of 1357 bytes, flags 1 = last of the block,
//	                                                       2 = last of a batch of ten
//	12 received for each block                             for each block, and with result 2 for each batch
//	14 finished 0, 1, or 2 for a wrong hash                0 or 1
//	17 logs     a source before the text                   a time stamp before the text
//	18 to 20    properties and keep-alive                  not there
//
// Where both ends are ours (protocol den.ProtocolCollet, dialect Released, FeatureCollet in both greetings) messages from
// 192 up carry many small files at once, hashes as bytes, and layouts as what differs from a known one. They are never
// sent to anybody else. docs/PROTOCOL.md has every layout of all three.
//
// # Paths
//
// A path names a file below the root of a tree, with slashes. CheckPath says which paths are taken; every path of a peer
// goes through it, and the folder is an opened root besides, so that neither dots nor symbolic links lead out of it.
//
// # Trees
//
// Tree scans a folder, hashes what its cache does not know and returns a Layout: files sorted by path with size and
// SHA-256. A cached hash counts as long as size, time of modification, time of change and inode are those of the moment
// when it was made. StateFolder below the root of a device holds the cache and files under way; it belongs to no layout.
//
// # Devices
//
// A device dials its desk for ever and answers every request. What is written goes to a part, which replaces the file
// when its SHA-256 is the one that the desk named, so that a stop at any moment leaves each file old or new. Released
// devices write in place instead; a desk keeps which files it has not seen the end of there, and writes them again. The states
// of a connection, and of the game:
//
//	Away → Dialing → Greeting → Connected → Away …       Stopped is final
//	stopped → starting → running → stopping → stopped
//
// # Errors
//
// *FormatError and *PathError are faults of the peer, *EncodeError one of the caller. The desk's own error types are with
// it. No error of a peer is more than the end of its connection or the refusal of one request.
package launcher
