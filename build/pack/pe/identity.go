package pe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

// Identity is what a program says of itself in its resources. What it does not say is empty.
type Identity struct {
	Name      string      // ProductName, or FileDescription
	Publisher string      // CompanyName
	Version   string      // ProductVersion, or FileVersion, as text
	Icon      image.Image // the largest picture of its first icon; nil without a readable one
}

// ReadIdentity reads the resources of a program. One without resources has an empty identity.
func ReadIdentity(program io.ReadSeeker) (id Identity, err error) {
	var set *winres.ResourceSet
	err = guarded(func() error {
		set, err = winres.LoadFromEXE(program)
		return err
	})
	if errors.Is(err, winres.ErrNoResources) {
		return Identity{}, nil
	}
	if err != nil {
		return Identity{}, fault(Malformed, "resources: %v", err)
	}
	var first winres.Identifier
	set.WalkType(winres.RT_GROUP_ICON, func(resource winres.Identifier, _ uint16, _ []byte) bool {
		first = resource
		return false
	})
	err = guarded(func() error {
		set.WalkType(winres.RT_VERSION, func(_ winres.Identifier, _ uint16, data []byte) bool {
			id.readVersion(data)
			return false
		})
		if first != nil {
			id.Icon = largestPicture(set, first)
		}
		return nil
	})
	return id, err
}

// readVersion reads the texts of a version resource; one that is malformed has none.
func (id *Identity) readVersion(data []byte) {
	info, err := version.FromBytes(data)
	if err != nil {
		return
	}
	table := info.Table()
	texts := table.GetMainTranslation()
	get := func(keys ...string) string {
		for _, key := range keys {
			if text := strings.TrimSpace(strings.TrimRight(texts[key], "\x00")); text != "" {
				return text
			}
		}
		return ""
	}
	id.Name = get(version.ProductName, version.FileDescription)
	id.Publisher = get(version.CompanyName)
	id.Version = get(version.ProductVersion, version.FileVersion)
}

// Sizes of an .ico file's header and of its entries in bytes.
const (
	icoHeader = 6
	icoEntry  = 16
)

// largestPicture decodes the largest picture of an icon that is a PNG or has 32 bits a pixel, or returns nil.
func largestPicture(set *winres.ResourceSet, name winres.Identifier) (best image.Image) {
	icon, err := set.GetIcon(name)
	if err != nil {
		return nil
	}
	var file bytes.Buffer
	if icon.SaveICO(&file) != nil || file.Len() < icoHeader {
		return nil
	}
	data, little := file.Bytes(), binary.LittleEndian
	for i := range int(little.Uint16(data[4:])) {
		entry := data[icoHeader+icoEntry*i:]
		at, size := int(little.Uint32(entry[12:])), int(little.Uint32(entry[8:]))
		picture := decodePicture(data[at : at+size])
		if picture != nil && (best == nil || picture.Bounds().Dx() > best.Bounds().Dx()) {
			best = picture
		}
	}
	return best
}

// dibHeader is the size of a BITMAPINFOHEADER in bytes.
const dibHeader = 40

// maxIconSide limits the side of a picture in an icon in pixels; Windows shows 256.
const maxIconSide = 1024

// decodePicture decodes one picture of an icon, or returns nil.
func decodePicture(data []byte) image.Image {
	if config, err := png.DecodeConfig(bytes.NewReader(data)); err == nil {
		if max(config.Width, config.Height) > maxIconSide {
			return nil
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		return picture
	}
	little := binary.LittleEndian
	if len(data) < dibHeader || little.Uint32(data) != dibHeader || little.Uint16(data[14:]) != 32 {
		return nil
	}
	// The height counts the mask below the picture, too.
	width, height := int(int32(little.Uint32(data[4:]))), int(int32(little.Uint32(data[8:])))/2
	if width < 1 || height < 1 || max(width, height) > maxIconSide || len(data) < dibHeader+4*width*height {
		return nil
	}
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p := data[dibHeader+4*((height-1-y)*width+x):]
			picture.SetNRGBA(x, y, color.NRGBA{p[2], p[1], p[0], p[3]})
		}
	}
	return picture
}
