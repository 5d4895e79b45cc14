package qa

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"collet/build/qa/proxy"
	"collet/build/qa/report"
)

const (
	// fillRate is the link's speed, in downloads a second, while the disk is filled during a download: slow enough that the disk is full
	// long before the last byte.
	fillRate = 2
	// fillSlowest is the minimum of that speed for small releases, in bytes a second.
	fillSlowest = 256 << 10
)

// sizeText matches the missing space in a message for a person.
var sizeText = regexp.MustCompile(`[0-9]\s?(B|bytes?|[kKMGT]i?B)\b`)

// fullDisks plans disks that are too small from the start, and disks that other programs fill during the download.
func (d *diskLab) fullDisks() ([]try, error) {
	before, after, err := d.bytes()
	if err != nil {
		return nil, err
	}
	var tries []try
	for i := range d.options.Sizes {
		free := int64(pageSize) << (uint(i) % 2) // above the journal's few pages, sizes grow evenly up to the whole need
		free += int64(i) * (after + diskCaution) / int64(max(d.options.Sizes-1, 1))
		tries = append(tries, try{
			name: "disk too small", params: []report.Param{{Name: "free", Value: fmt.Sprint(free)}},
			do: func(ctx context.Context) (report.State, string, error) {
				return d.tooSmall(ctx, before+free, before+after)
			},
		})
	}
	for i := range d.options.Sizes {
		left := int64(i) * d.download() / int64(max(d.options.Sizes-1, 1)) / pageSize * pageSize
		tries = append(tries, try{
			name: "disk filled during the download", params: []report.Param{{Name: "free", Value: fmt.Sprint(left)}},
			do: func(ctx context.Context) (report.State, string, error) { return d.filled(ctx, left, before+after) },
		})
	}
	return tries, nil
}

// roomy is a sufficient size for a client that keeps both sets and its margin.
func roomy(sets int64) int64 { return 3*sets + 2*diskCaution }

// tooSmall updates on a tmpfs of a size, and enlarges it if that was not enough.
func (d *diskLab) tooSmall(ctx context.Context, size, sets int64) (report.State, string, error) {
	return d.onMemory(size, 0, func(mount, dir string) (report.State, string, error) {
		end, done, err := d.converge(ctx, dir, clientRun{})
		if err != nil {
			return "", "", err
		}
		return d.fullVerdict(ctx, mount, dir, end, done, func() error { return resizeMemory(mount, roomy(sets), 0) })
	})
}

// filled fills the disk up to a remainder as soon as the client downloads over a slow link.
func (d *diskLab) filled(ctx context.Context, left, sets int64) (state report.State, detail string, err error) {
	slow, err := proxy.Start(proxy.Options{Target: d.client.options.Server, Link: proxy.Link{Rate: max(d.download()*fillRate, fillSlowest)}})
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, slow.Close()) }()
	return d.onMemory(roomy(sets), 0, func(mount, dir string) (report.State, string, error) {
		ballast := filepath.Join(mount, "ballast")
		var once sync.Once
		var failed error
		fill := func(said clientLine) {
			if said.Phase == "fetching" && said.Bytes == d.download() {
				once.Do(func() { failed = fillUp(mount, ballast, left) })
			}
		}
		end, done, err := d.converge(ctx, dir, clientRun{server: slow.Addr(), onLine: fill})
		if err = errors.Join(err, failed); err != nil {
			return "", "", err
		}
		return d.fullVerdict(ctx, mount, dir, end, done, func() error { return os.Remove(ballast) })
	})
}

// fillUp writes a file until only left bytes are free.
func fillUp(mount, ballast string, left int64) error {
	free, err := freeBytes(mount)
	if err != nil {
		return err
	}
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for missing := free - left; missing > 0 && err == nil; {
		var n int
		n, err = f.Write(zeros[:min(missing, int64(len(zeros)))])
		missing -= int64(n)
	}
	if isFull(err) { // the client used some space meanwhile
		err = nil
	}
	return errors.Join(err, f.Close())
}

// fullVerdict judges an update on a disk without enough space. It succeeded, or it failed with a message about the space and left a whole
// set; with enough space it then converges.
func (d *diskLab) fullVerdict(ctx context.Context, mount, dir string, end clientEnd, done bool, heal func() error) (report.State, string, error) {
	note := fmt.Sprintf("the update: %v", end)
	var problem string
	if !done {
		problem = fullProblem(end, mount, dir)
	}
	later, err := d.afterwards(ctx, dir, heal)
	return verdict(joinLines(problem, later), note, err)
}

// fullProblem describes what is wrong with a client's end on a full disk.
func fullProblem(end clientEnd, mount, dir string) string {
	var problems []string
	if end.code != exitDiskFull {
		problems = append(problems, fmt.Sprintf("on a full disk the client ends with %v, want exit code %d; it printed:\n%s", end, exitDiskFull, end.tail()))
	}
	if end.code == exitDiskFull && !sizeText.MatchString(end.last.Text) {
		problems = append(problems, fmt.Sprintf("the text does not say how much to free: %q", end.last.Text))
	}
	if end.code == exitDiskFull && !strings.Contains(end.last.Text, mount) && !strings.Contains(end.last.Text, dir) {
		problems = append(problems, fmt.Sprintf("the text does not say where to free it: %q", end.last.Text))
	}
	return strings.Join(problems, "\n")
}

// failingDisks plans disks that are read-only or lack inodes.
func (d *diskLab) failingDisks() []try {
	tries := []try{{name: "read-only disk", do: d.readOnly}}
	for spare := range int64(d.options.Sizes) {
		tries = append(tries, try{
			name: "no inodes left", params: []report.Param{{Name: "free", Value: fmt.Sprint(spare)}},
			do: func(ctx context.Context) (report.State, string, error) { return d.noInodes(ctx, spare) },
		})
	}
	return tries
}

// readOnly updates on a read-only disk: the client must report that before it downloads.
func (d *diskLab) readOnly(ctx context.Context) (report.State, string, error) {
	before, after, err := d.bytes()
	if err != nil {
		return "", "", err
	}
	return d.onMemory(roomy(before+after), 0, func(mount, dir string) (report.State, string, error) {
		if err := protectMemory(mount, true); err != nil {
			return "", "", err
		}
		end, _, err := d.converge(ctx, dir, clientRun{})
		if err != nil {
			return "", "", err
		}
		problem := readOnlyProblem(end, mount)
		later, err := d.afterwards(ctx, dir, func() error { return protectMemory(mount, false) })
		return verdict(joinLines(problem, later), fmt.Sprintf("the update: %v", end), err)
	})
}

func readOnlyProblem(end clientEnd, mount string) string {
	var problems []string
	if end.code != exitPermission {
		problems = append(problems, fmt.Sprintf("on a read-only disk the client ends with %v, want exit code %d; it printed:\n%s", end, exitPermission, end.tail()))
	}
	for _, phase := range end.phases {
		if phase == "fetching" {
			problems = append(problems, "it began to fetch before it found out")
		}
	}
	if end.code == exitPermission && !strings.Contains(end.last.Text, mount) {
		problems = append(problems, fmt.Sprintf("the text does not name the folder: %q", end.last.Text))
	}
	return strings.Join(problems, "\n")
}

// noInodes updates on a tmpfs with only a few free inodes.
func (d *diskLab) noInodes(ctx context.Context, spare int64) (report.State, string, error) {
	before, after, err := d.bytes()
	if err != nil {
		return "", "", err
	}
	const many = 1 << 16
	return d.onMemory(roomy(before+after), many, func(mount, dir string) (report.State, string, error) {
		used, err := usedInodes(mount)
		if err == nil {
			err = resizeMemory(mount, roomy(before+after), used+spare)
		}
		if err != nil {
			return "", "", err
		}
		end, done, err := d.converge(ctx, dir, clientRun{})
		if err != nil {
			return "", "", err
		}
		var problem string
		if !done && end.code != exitDiskFull {
			problem = fmt.Sprintf("without inodes the client ends with %v, want exit code %d; it printed:\n%s", end, exitDiskFull, end.tail())
		}
		later, err := d.afterwards(ctx, dir, func() error { return resizeMemory(mount, roomy(before+after), many) })
		return verdict(joinLines(problem, later), fmt.Sprintf("the update: %v", end), err)
	})
}
