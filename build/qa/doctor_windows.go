package qa

import "io/fs"

// mayWrite knows only the read-only attribute of files: who may write to a folder can't be told there without trying.
func mayWrite(_ string, info fs.FileInfo) error {
	if !info.IsDir() && info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return nil
}
