// Package cdn runs caches before a release folder, and the load of a game's players before the caches: Varnish and Apache Traffic Server
// with the files of docs/caches, before collet-server and before a bucket in a real object store (versitygw, which the module in versitygw/
// builds). It holds them to two promises: 10,000 starts a minute cost the origin at most 50 requests a second, and an hour without the origin
// does not matter to players, also to many at once. The caches have a clock that
// the test moves (testdata/clock.c), so an hour takes seconds and all lifetimes are the real ones.
package cdn
