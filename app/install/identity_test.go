package install_test

import "runtime"

// runsWithoutInodes reports whether the system's Lstat tells neither inode nor its time.
func runsWithoutInodes() bool { return runtime.GOOS != "linux" && runtime.GOOS != "darwin" }
