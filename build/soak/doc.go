// Package soak keeps a real update server under constantly changing load and looks for what grows: goroutines, file
// descriptors, connections, heap and resident memory of its process.
//
// # A run
//
//	start ─ crowd ─┬→ load ─ roll call ─ quiet moment, one sample ─┬→ all clients leave ─ stop ─ verdict
//	               └──────────────── next cycle ←──────────────────┘
//
// A cycle begins with load: workers that download over every transport in every generation, and check the list and every
// byte against what was published; that go away in the middle, read slowly, talk garbage, ping and knock; squatters that
// say nothing, half a hello, take nothing of what they asked for, or answer no ping, until the server ends them in the
// time that its limits say; and a publisher that renames changed files into place and reloads, by signal and through the
// control socket, now and then in vain. What chance decides follows from the seed; how threads interleave does not.
//
// Then the load pauses and all its connections are closed. An idle crowd stays, over all transports in all generations:
// one half since the start, with the first catalogue in its hands, the other half called anew when there is another
// catalogue. So every quiet moment finds the same connections and the same number of catalogues, and numbers can be
// compared. A sample is read after two collections of garbage that began in the quiet moment; asking for metrics often
// enough is what brings them about, so the server is the one that players get.
//
// # The verdict
//
// Of the samples behind the warm-up, the median of the last third is compared with that of the first. Bounds says by how
// much each may have grown. Judge is a pure function.
//
// The server's limits of time are shorter than their defaults, so that they are reached. All else is as a server has it.
//
// # Promises
//
// Nothing listens anywhere but on the loopback interface. When Run returns, the server, all connections, goroutines and
// files that it made are gone, also when ctx ended it early; the verdict is then about what was measured until then.
package soak
