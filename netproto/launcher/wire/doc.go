// Package wire is the messages of the Remote Launcher protocol, and what they carry: layouts of folders, hashes, and the rules for paths.
// A desk owns a working copy and puts it on devices (package desk); a device follows (package device). Both run over the transport of
// package den.
//
// # Messages
//
// Every application message of den is one message here: its code in the first byte, then its fields in the order of its
// code method, little endian, without padding. Bytes behind the last field are ignored, and so are messages with codes
// that this package does not know or that come from the wrong side: Decode returns Unknown for them. A message that ends inside a
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
// sent to other programs. docs/PROTOCOL.md has every layout of all three.
//
// # Paths
//
// A path names a file below the root of a tree, with slashes. CheckPath says which paths are taken; every path of a peer
// goes through it, and the folder is an opened root besides, so that neither dots nor symbolic links lead out of it.
//
// # Errors
//
// *FormatError and *PathError are faults of the peer, *EncodeError one of the caller.
package wire
