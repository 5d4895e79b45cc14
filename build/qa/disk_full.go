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
)

const (
	// fillRate is the speed of the link, in downloads a second, while disks are filled during one: slow enough that the
	// disk is full long before the last byte comes.
	fillRate = 2
	// fillSlowest bounds that speed for small releases, in bytes a second.
	fillSlowest = 256 << 10
)

// sizeText is how a message for a person says how much room is missing.
var sizeText = regexp.MustCompile(`[0-9]\s?(B|bytes?|[kKMGT]i?B)\b`)

// fullDisks plans disks that are too small from the beginning, and disks that others fill during the download.
func (d *diskLab) fullDisks() ([]labTry, error) {
	before, after, err := d.bytes()
	if err != nil {
		return nil, err
	}
	var tries []labTry
	for i := range d.options.Sizes {
		free := int64(labPage) << (uint(i) % 2) // beside the journal's few pages sizes grow evenly up to the need of all
		free += int64(i) * (after + diskCaution) / int64(max(d.options.Sizes-1, 1))
		tries = append(tries, labTry{
			name: "disk too small", params: []Param{{"free", fmt.Sprint(free)}},
			try: func(ctx context.Context) (CaseState, string, error) {
				return d.tooSmall(ctx, before+free, before+after)
			},
		})
	}
	for i := range d.options.Sizes {
		left := int64(i) * d.download() / int64(max(d.options.Sizes-1, 1)) / labPage * labPage
		tries = append(tries, labTry{
			name: "disk filled during the download", params: []Param{{"free", fmt.Sprint(left)}},
			try: func(ctx context.Context) (CaseState, string, error) { return d.filled(ctx, left, before+after) },
		})
	}
	return tries, nil
}

// roomy is a size at which nothing is missing, for a client that keeps both sets and its caution.
func roomy(sets int64) int64 { return 3*sets + 2*diskCaution }

// tooSmall updates on a tmpfs of a size, and makes it larger when that was not enough.
func (d *diskLab) tooSmall(ctx context.Context, size, sets int64) (CaseState, string, error) {
	return d.onMemory(size, 0, func(mount, dir string) (CaseState, string, error) {
		end, done, err := d.converge(ctx, dir, labRun{})
		if err != nil {
			return "", "", err
		}
		return d.fullVerdict(ctx, mount, dir, end, done, func() error { return resizeMemory(mount, roomy(sets), 0) })
	})
}

// filled fills the disk up to a rest as soon as the client fetches over a slow link.
func (d *diskLab) filled(ctx context.Context, left, sets int64) (state CaseState, detail string, err error) {
	slow, err := StartProxy(ProxyOptions{Target: d.Lab.options.Server, Link: Link{Rate: max(d.download()*fillRate, fillSlowest)}})
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, slow.Close()) }()
	return d.onMemory(roomy(sets), 0, func(mount, dir string) (CaseState, string, error) {
		ballast := filepath.Join(mount, "ballast")
		var once sync.Once
		var failed error
		fill := func(said labLine) {
			if said.Phase == "fetching" && said.Bytes == d.download() {
				once.Do(func() { failed = fillUp(mount, ballast, left) })
			}
		}
		end, done, err := d.converge(ctx, dir, labRun{server: slow.Addr(), on: fill})
		if err = errors.Join(err, failed); err != nil {
			return "", "", err
		}
		return d.fullVerdict(ctx, mount, dir, end, done, func() error { return os.Remove(ballast) })
	})
}

// fillUp writes a file so long that only so much room is left.
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
	if isFull(err) { // the client took some of it meanwhile
		err = nil
	}
	return errors.Join(err, f.Close())
}

// fullVerdict judges an update on a disk without enough room: it is done, or it ended for this reason, said so, and left
// a whole set; with room again, it converges.
func (d *diskLab) fullVerdict(ctx context.Context, mount, dir string, end labEnd, done bool, heal func() error) (CaseState, string, error) {
	note := fmt.Sprintf("the update: %v", end)
	var problem string
	if !done {
		problem = fullProblem(end, mount, dir)
	}
	later, err := d.afterwards(ctx, dir, heal)
	return labVerdict(labLines(problem, later), note, err)
}

// fullProblem is what is wrong with how a client ended on a full disk.
func fullProblem(end labEnd, mount, dir string) string {
	var problems []string
	if end.code != labExitDiskFull {
		problems = append(problems, fmt.Sprintf("on a full disk the client ends with %v, want exit code %d; it printed:\n%s", end, labExitDiskFull, end.tail()))
	}
	if end.code == labExitDiskFull && !sizeText.MatchString(end.last.Text) {
		problems = append(problems, fmt.Sprintf("the text does not say how much to free: %q", end.last.Text))
	}
	if end.code == labExitDiskFull && !strings.Contains(end.last.Text, mount) && !strings.Contains(end.last.Text, dir) {
		problems = append(problems, fmt.Sprintf("the text does not say where to free it: %q", end.last.Text))
	}
	return strings.Join(problems, "\n")
}

// failingDisks plans disks that can't be written and disks without inodes.
func (d *diskLab) failingDisks() []labTry {
	tries := []labTry{{name: "read-only disk", try: d.readOnly}}
	for spare := range int64(d.options.Sizes) {
		tries = append(tries, labTry{
			name: "no inodes left", params: []Param{{"free", fmt.Sprint(spare)}},
			try: func(ctx context.Context) (CaseState, string, error) { return d.noInodes(ctx, spare) },
		})
	}
	return tries
}

// readOnly updates on a disk that is read-only: the client has to say so before it fetches anything.
func (d *diskLab) readOnly(ctx context.Context) (CaseState, string, error) {
	before, after, err := d.bytes()
	if err != nil {
		return "", "", err
	}
	return d.onMemory(roomy(before+after), 0, func(mount, dir string) (CaseState, string, error) {
		if err := protectMemory(mount, true); err != nil {
			return "", "", err
		}
		end, _, err := d.converge(ctx, dir, labRun{})
		if err != nil {
			return "", "", err
		}
		problem := readOnlyProblem(end, mount)
		later, err := d.afterwards(ctx, dir, func() error { return protectMemory(mount, false) })
		return labVerdict(labLines(problem, later), fmt.Sprintf("the update: %v", end), err)
	})
}

func readOnlyProblem(end labEnd, mount string) string {
	var problems []string
	if end.code != labExitPermission {
		problems = append(problems, fmt.Sprintf("on a read-only disk the client ends with %v, want exit code %d; it printed:\n%s", end, labExitPermission, end.tail()))
	}
	for _, phase := range end.phases {
		if phase == "fetching" {
			problems = append(problems, "it began to fetch before it found out")
		}
	}
	if end.code == labExitPermission && !strings.Contains(end.last.Text, mount) {
		problems = append(problems, fmt.Sprintf("the text does not name the folder: %q", end.last.Text))
	}
	return strings.Join(problems, "\n")
}

// noInodes updates on a tmpfs that has only a few names left.
func (d *diskLab) noInodes(ctx context.Context, spare int64) (CaseState, string, error) {
	before, after, err := d.bytes()
	if err != nil {
		return "", "", err
	}
	const many = 1 << 16
	return d.onMemory(roomy(before+after), many, func(mount, dir string) (CaseState, string, error) {
		used, err := usedInodes(mount)
		if err == nil {
			err = resizeMemory(mount, roomy(before+after), used+spare)
		}
		if err != nil {
			return "", "", err
		}
		end, done, err := d.converge(ctx, dir, labRun{})
		if err != nil {
			return "", "", err
		}
		var problem string
		if !done && end.code != labExitDiskFull {
			problem = fmt.Sprintf("without inodes the client ends with %v, want exit code %d; it printed:\n%s", end, labExitDiskFull, end.tail())
		}
		later, err := d.afterwards(ctx, dir, func() error { return resizeMemory(mount, roomy(before+after), many) })
		return labVerdict(labLines(problem, later), fmt.Sprintf("the update: %v", end), err)
	})
}
