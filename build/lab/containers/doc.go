// Package containers tries what needs the tools of containers: releases in a real OCI registry, Debian's docker-registry, and the images of
// build/container, which buildah builds and runs. It has tests only.
//
// Commands of the scripts beside those of build/testscripts:
//
//	registry       start a registry, and set REGISTRY to its address
//	registry gc    stop it, let it collect garbage, start it again at the same address, and fail unless it has removed blobs
package containers
