package pack

import (
	"errors"
	"fmt"
	"image"
	_ "image/png" // the format of icons
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/build/publish/check"
	"collet/netproto/product"
)

// fileChecker checks and resolves paths of the project, and looks into the files.
type fileChecker struct {
	*valueChecker
	dir  string // Project.Dir
	root string // dir without symbolic links
}

// kind is the expected type of a path's target.
type kind string

const (
	aFile   kind = "file"
	aFolder kind = "folder"
	either  kind = "file or folder"
)

// resolve resolves a path of the project in place. It reports whether the target exists.
func (c *fileChecker) resolve(key string, value *string, want kind) bool {
	name := *value
	if !c.checkLine(key, name) {
		return false
	}
	switch {
	case strings.Contains(name, `\`):
		c.add(key, "separate folders with slashes: "+strings.ReplaceAll(name, `\`, "/"), "%q has backslashes", name)
	case path.IsAbs(name) || filepath.IsAbs(name) || len(name) > 1 && name[1] == ':':
		c.add(key, "want one that is relative to the folder of "+filepath.Base(c.file), "%q is an absolute path", name)
	case !filepath.IsLocal(path.Clean(name)):
		c.add(key, "copy it into the project's folder, or move "+filepath.Base(c.file)+" up", "%q lies outside of the project", name)
	default:
		full := filepath.Join(c.dir, filepath.FromSlash(path.Clean(name)))
		if c.checkExists(key, name, full, want) {
			*value = full
			return true
		}
	}
	return false
}

func (c *fileChecker) checkExists(key, name, full string, want kind) bool {
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		want := c.suggestSibling(name, full)
		if key == trustedRoot && want == buildFirst {
			want = "`collet keys init && collet release publish` writes it, or correct the path"
		}
		c.add(key, want, "there is no %s", name)
	case err != nil:
		c.add(key, "", "%s can't be looked at: %v", name, cause(err))
	case want == aFile && info.IsDir():
		c.add(key, "want a file", "%s is a folder", name)
	case want == aFolder && !info.IsDir():
		c.add(key, "want a folder", "%s is a file", name)
	case !info.IsDir() && !info.Mode().IsRegular():
		c.add(key, "want a file or a folder", "%s is a device or a pipe", name)
	case c.leavesProject(full):
		c.add(key, "copy what it leads to into the project's folder", "%s is a link that leads out of the project", name)
	default:
		return true
	}
	return false
}

// cause strips operation and path from a system error.
func cause(err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return fault.Err
	}
	return err
}

// leavesProject reports whether symbolic links lead out of the project.
func (c *fileChecker) leavesProject(full string) bool {
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return true
	}
	rel, err := filepath.Rel(c.root, real)
	return err != nil || !filepath.IsLocal(rel)
}

// maxSiblings is the number of folder entries that are searched for a similar name.
const maxSiblings = 1000

// suggestSibling returns advice with the name of a similar existing file.
func (c *fileChecker) suggestSibling(name, full string) string {
	folder := filepath.Dir(full)
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Sprintf("there is no folder %s either: build it first, or correct the path", path.Dir(name))
	}
	defer f.Close()
	siblings, _ := f.Readdirnames(maxSiblings) // an error only costs advice
	slices.Sort(siblings)
	if best := advice.Nearest(filepath.Base(full), siblings); best != "" {
		return fmt.Sprintf("did you mean %s?", path.Join(path.Dir(name), best))
	}
	return buildFirst
}

// buildFirst is advice for a file that is not there.
const buildFirst = "build it first, or correct the path"

func (c *fileChecker) checkExtension(key, file, want string) {
	if got := filepath.Ext(file); !strings.EqualFold(got, want) {
		c.add(key, "want a file that ends in "+want, "%s ends in %q", filepath.Base(file), got)
	}
}

// checkTarget refuses a host, library or program that does not fit a target.
func (c *fileChecker) checkTarget(key, file string, target product.Target, fits func(name string, head []byte, target product.Target) *check.Fault) {
	if fault := fits(filepath.Base(file), programHead(file), target); fault != nil {
		c.add(key, fault.Want, "%s", fault.What)
	}
}

// programHead returns the beginning of a program or library; empty if it can't be read.
func programHead(file string) []byte {
	head, _ := readSome(file, check.HeadSize) // a file that can't be read has no known format
	return head
}

// builtFor returns the targets that a program or library is built for.
func builtFor(file string) []product.Target { return check.TargetsOf(programHead(file)) }

// readPicture returns the size of a PNG.
func (c *fileChecker) readPicture(key string, value *string) (size image.Point, ok bool) {
	name := *value
	if !c.resolve(key, value, aFile) {
		return size, false
	}
	f, err := os.Open(*value)
	if err != nil {
		c.add(key, "", "%s can't be read: %v", name, cause(err))
		return size, false
	}
	defer f.Close()
	config, format, err := image.DecodeConfig(f)
	if err != nil || format != "png" {
		c.add(key, "want a PNG", "%s is no PNG", name)
		return size, false
	}
	return image.Pt(config.Width, config.Height), true
}
