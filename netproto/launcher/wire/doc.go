// Package wire is the codec of the Remote Launcher protocol: its messages, layouts of folders, hashes, and rules for
// paths. A desk, the controller, owns a working copy and pushes it to devices (package desk); a device follows (package
// device). The transport is package den.
//
// # Messages
//
// Every application message of den is one message here: its code in the first byte, then its fields in the order of its
// code method, little endian, without padding. Bytes behind the last field are ignored. So are messages with unknown
// codes, or from the wrong side: Decode returns Unknown for them. A message that ends inside a field, or exceeds a cap
// of this package, is a *FormatError and the fault of the peer.
//
// There are two dialects. They can't be told apart on the wire, so the user chooses. Released is spoken by every
// released program. Draft is the protocol's first description, from before the first release:
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
// Our own mode needs our programs at both ends: protocol den.ProtocolCollet, dialect Released, FeatureCollet in both
// greetings. Its messages from 192 up carry many small files at once, hashes as bytes, and layouts as differences from a
// known one. They are never sent to other programs. docs/PROTOCOL.md has every layout of all three.
//
// # Paths
//
// A path names a file below the root of a tree, with slashes. Every path of a peer must pass CheckPath. The folder is
// also opened as a root, so neither dots nor symbolic links lead out of it.
//
// # Errors
//
// *FormatError and *PathError are faults of the peer, *EncodeError one of the caller.
package wire
