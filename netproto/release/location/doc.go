// Package location maps addresses of release folders, and the names of their files, to URLs. It is the one place that knows where services
// keep the files. It opens no connection. Publishers and clients use the same addresses:
//
//	http://HOST/PATH, https://HOST/PATH
//	        A folder of a web server. A file is at PATH/<name>. An address that a person gives to one program may have a query, the
//	        signature of a signed URL; every request has it. It is shown nowhere, like user name and password.
//
//	github://OWNER/REPO[?tag=TAG&endpoint=HOST]
//	        The assets of the GitHub release with this tag, collet by default. The asset of a file has the file's name with dots in place
//	        of slashes: "objects/ab/ab…" is objects.ab.ab…. Only the sequels to the last releases are there, because a release has at most
//	        MaxAssets assets, and publishers may make some hundreds of requests an hour. A new timestamp.json, like a new sequel, is uploaded as timestamp.json.new, and gets its name when the old one has been removed.
//	        endpoint is the host of a GitHub Enterprise server; http://HOST connects without TLS.
//
//	oci://HOST/REPOSITORY[:TAG][?plain-http]
//	        A repository of an OCI registry. Objects and heads are blobs, whose digests are in their names. The manifest with the tag, collet
//	        by default, is the list of the newest metadata files: names and digests, and the bytes of timestamp.json. One request replaces
//	        it, so all readers see the old metadata or the new. Manifests with the tags TAG-objects-0, TAG-objects-1, … list all other
//	        files, so that the registry's garbage collection keeps them; only publishers read these. The sequels to the last releases are in
//	        manifests of their own, with tags made of their names, TAG-sequel-<20 hex>, so that a client needs one request, and clients
//	        without an update need none of their bytes. Connections to loopback hosts are without TLS, as with docker; plain-http says the same for others.
//
// What services answer is untrusted: DecodeManifest has limits, and all files are verified as those of any web server.
package location
