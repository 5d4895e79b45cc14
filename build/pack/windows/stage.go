package windows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/png" // icons of games are PNG files
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/image/bmp"
	scale "golang.org/x/image/draw"

	"collet/build/pack/bundle"
	"collet/build/pack/pe"
)

// stage is a folder in which a tool finds everything under names that it can't misread: f0000, f0001 and so on.
type stage struct {
	dir  string
	time time.Time
}

func newStage(when time.Time) (*stage, error) {
	dir, err := os.MkdirTemp("", "collet-installer-")
	return &stage{dir, when}, err
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) remove(err *error) { *err = errors.Join(*err, os.RemoveAll(s.dir)) }

// stagedName is how the file with this number is called.
func stagedName(i int) string { return fmt.Sprintf("f%04d", i) }

// files copies a tree into the folder.
func (s *stage) files(ctx context.Context, tree bundle.Tree) error {
	for i, e := range tree {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, _, err := e.Open()
		if err != nil {
			return err
		}
		err = errors.Join(s.copy(stagedName(i), from), from.Close())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return nil
}

func (s *stage) copy(name string, from io.Reader) error {
	to, err := os.OpenFile(s.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Chtimes(s.path(name), s.time, s.time)
}

func (s *stage) writeFile(name string, data []byte) error { return s.copy(name, bytes.NewReader(data)) }

// maxOutput is how much of a tool's words an error repeats, in bytes: its end, where the reason is.
const maxOutput = 2000

// tool runs a program in the folder, in a world in which nothing differs between machines.
func (s *stage) tool(ctx context.Context, pack, name string, args ...string) ([]byte, error) {
	program, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed, and makes installers for Windows; it is in Debian's package %s: apt-get install %s", name, pack, pack)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir, "LC_ALL=C.UTF-8", "TZ=UTC",
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", s.time.Unix())}
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + words.String())
		return nil, fmt.Errorf("%s: %w\n%s", name, err, said[max(0, len(said)-maxOutput):])
	}
	return out.Bytes(), nil
}

// deliver moves the result to its place, whole or not at all.
func (s *stage) deliver(name, out string) error {
	from, err := os.Open(s.path(name))
	if err != nil {
		return err
	}
	defer from.Close()
	part := out + ".part"
	to, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(part, out)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// The picture at the side of a setup's first and last page: the size that the pages have at 96 dots an inch.
const (
	sideWidth, sideHeight = 164, 314
	sideIcon              = 112
)

// pictures writes game.ico and side.bmp.
func (s *stage) pictures(file string) error {
	png, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("icon: %w", err)
	}
	var ico bytes.Buffer
	if err := pe.WriteICO(&ico, png); err != nil {
		return fmt.Errorf("icon %s: %w", file, err)
	}
	icon, _, err := image.Decode(bytes.NewReader(png))
	if err != nil {
		return fmt.Errorf("icon %s: %w", file, err)
	}
	var side bytes.Buffer
	if err := bmp.Encode(&side, sidePicture(icon)); err != nil {
		return err
	}
	return errors.Join(s.writeFile("game.ico", ico.Bytes()), s.writeFile("side.bmp", side.Bytes()))
}

// sidePicture has the game's icon on a dark ground that gets lighter towards the bottom.
func sidePicture(icon image.Image) image.Image {
	picture := image.NewRGBA(image.Rect(0, 0, sideWidth, sideHeight))
	for y := range sideHeight {
		shade := uint8(24 + y*40/sideHeight)
		line := image.Rect(0, y, sideWidth, y+1)
		draw.Draw(picture, line, image.NewUniform(color.RGBA{shade, shade + 4, shade + 12, 255}), image.Point{}, draw.Src)
	}
	left, top := (sideWidth-sideIcon)/2, (sideHeight-sideIcon)/3
	scale.CatmullRom.Scale(picture, image.Rect(left, top, left+sideIcon, top+sideIcon), icon, icon.Bounds(), draw.Over, nil)
	return picture
}
