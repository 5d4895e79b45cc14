package host

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/runtime/area"
)

const (
	// insideName is the name of the packaged settings in errors.
	insideName = "internal config"
	// splashEntry and iconEntry are the pictures among the packaged resources.
	splashEntry = "splash.png"
	iconEntry   = "icon.png"
	// maxPicture is the largest picture file in bytes. maxSide is the longest side of a picture in pixels: four times the window's,
	// for screens of high density.
	maxPicture = 4 << 20
	maxSide    = 2560
)

// packed is the package inside this program; the zero value is a program without one.
type packed struct{ area.Contents }

// readPacked reads the package of this program. An incomplete package is an error, and the program does not start.
func readPacked() (packed, error) {
	c, _, err := area.ReadOwn()
	if err != nil {
		return packed{}, fmt.Errorf("this program was not packaged as it should have been: %w", err)
	}
	return packed{c}, nil
}

// on reports whether this program is packaged.
func (p packed) on() bool { return p.Name != "" }

// settings merges the packaged settings with the file beside the program, which takes precedence. Settings outside of tables, which are
// for the game, come from the file only: the module has its own packaged ones, and may be newer than this program.
func (p packed) settings(file string) (settings.Settings, error) {
	beside, err := settings.ReadFile(file)
	if err != nil {
		return settings.Settings{}, err
	}
	said, err := settings.Load(beside)
	if err != nil || !p.on() {
		return said, err
	}
	all, err := settings.Load(settings.Layer{Name: insideName, Text: p.Config}, beside)
	all.Game = said.Game
	return all, err
}

// packedArgs are the game's arguments for the package's name and for the settings outside of tables.
func packedArgs(p packed, game map[string]string) (args []string) {
	if p.on() {
		args = append(args, "--packaged", p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(game)) {
		args = append(args, "--"+name, game[name])
	}
	return args
}

// picture is the packaged picture of the splash; nil if missing or broken. It is called from another goroutine.
func (p packed) picture(log zerolog.Logger) image.Image {
	data, picture := p.packedPicture(log, splashEntry)
	if data == nil {
		return nil
	}
	return picture
}

// icon is the packaged icon; nil if missing or broken.
func (p packed) icon(log zerolog.Logger) []byte {
	data, _ := p.packedPicture(log, iconEntry)
	return data
}

// packedPicture reads a picture. A broken one is logged and left out: the game does not need it.
func (p packed) packedPicture(log zerolog.Logger, name string) ([]byte, image.Image) {
	if len(p.Resources) == 0 {
		return nil, nil
	}
	data, err := p.resource(name)
	var picture image.Image
	if err == nil && data != nil {
		picture, err = decodePicture(data)
	}
	if err != nil {
		log.Warn().Err(err).Str("file", name).Msg("packaged picture not used")
		return nil, nil
	}
	return data, picture
}

// resource reads one of the packaged resources; nil if not found.
func (p packed) resource(name string) ([]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(p.Resources), int64(len(p.Resources)))
	if err != nil {
		return nil, fmt.Errorf("embedded resources: %w", err)
	}
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil, nil
	}
	entry, err := archive.File[i].Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(entry, maxPicture+1))
	if err = errors.Join(err, entry.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxPicture {
		return nil, fmt.Errorf("more than %d bytes", maxPicture)
	}
	return data, nil
}

// decodePicture checks the dimensions before it decodes the pixels.
func decodePicture(data []byte) (image.Image, error) {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if head.Width > maxSide || head.Height > maxSide {
		return nil, fmt.Errorf("%d × %d pixels; a side has at most %d", head.Width, head.Height, maxSide)
	}
	return png.Decode(bytes.NewReader(data))
}
