package verify

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpacked is the name of the one member that something compressed has.
const unpacked = "(unpacked)"

// zipTime is how the clock of a zip is told.
const zipTime = "2006-01-02 15:04:05"

func zipMembers(c content) (members, error) {
	r, err := zip.NewReader(c, c.size)
	if err != nil {
		return nil, err
	}
	if len(r.File) > maxMembers {
		return nil, fmt.Errorf("more than %d members", maxMembers)
	}
	i := -1
	return func() (member, error) {
		if i++; i >= len(r.File) {
			return member{}, io.EOF
		}
		f := r.File[i]
		m := member{name: f.Name, facts: []fact{
			{"method", strconv.Itoa(int(f.Method))},
			{"flags", fmt.Sprintf("%#x", f.Flags)},
			{"time", f.Modified.UTC().Format(zipTime)},
			{"permissions", f.Mode().String()},
			{"made by", strconv.Itoa(int(f.CreatorVersion))},
			{"extra field", fmt.Sprintf("%x", f.Extra)},
			{"comment", f.Comment},
		}}
		m.body, err = f.Open()
		return m, err
	}, nil
}

func gzipMembers(c content) (members, error) {
	r, err := gzip.NewReader(c.reader())
	if err != nil {
		return nil, err
	}
	return listed([]member{{name: unpacked, body: r, facts: []fact{
		{"time", r.ModTime.UTC().Format(time.RFC3339)}, {"name", r.Name}, {"system", strconv.Itoa(int(r.OS))},
	}}}), nil
}

func zstdMembers(c content) (members, error) {
	r, err := zstd.NewReader(c.reader(), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return listed([]member{{name: unpacked, body: r}}), nil
}

func tarMembers(c content) (members, error) {
	r := tar.NewReader(c.reader())
	return func() (member, error) {
		h, err := r.Next()
		if err != nil {
			return member{}, err
		}
		return member{name: h.Name, body: r, facts: []fact{
			{"kind", string(h.Typeflag)},
			{"link", h.Linkname},
			{"permissions", strconv.FormatInt(h.Mode, 8)},
			{"time", h.ModTime.UTC().Format(time.RFC3339Nano)},
			{"owner", fmt.Sprintf("%d/%d %s/%s", h.Uid, h.Gid, h.Uname, h.Gname)},
			{"format", h.Format.String()},
		}}, nil
	}, nil
}

// Layout of an ar archive, which a .deb is: a mark, and before each member 60 bytes of text.
const (
	arMark   = 8
	arHeader = 60
)

// arMembers lists a .deb's control after its data: it has their digests, and where only they differ, that is the place to look at.
func arMembers(c content) (members, error) {
	var all, control []member
	for at := int64(arMark); at < c.size; {
		m, size, err := arMember(c, at)
		if err != nil {
			return nil, err
		}
		if len(all)+len(control) == maxMembers {
			return nil, fmt.Errorf("more than %d members", maxMembers)
		}
		if strings.HasPrefix(m.name, "control.") {
			control = append(control, m)
		} else {
			all = append(all, m)
		}
		at += arHeader + size + size%2
	}
	return listed(append(all, control...)), nil
}

func arMember(c content, at int64) (m member, size int64, err error) {
	h := c.part(at, arHeader).head(arHeader)
	if len(h) < arHeader {
		return m, 0, io.ErrUnexpectedEOF
	}
	field := func(from, to int) string { return strings.TrimSpace(string(h[from:to])) }
	size, err = strconv.ParseInt(field(48, 58), 10, 64)
	if err != nil || size < 0 {
		return m, 0, errors.New("a member's size is no number")
	}
	return member{name: field(0, 16), body: c.part(at+arHeader, size).reader(), facts: []fact{
		{"time", field(16, 28)}, {"owner", field(28, 34) + "/" + field(34, 40)}, {"permissions", field(40, 48)},
	}}, size, nil
}
