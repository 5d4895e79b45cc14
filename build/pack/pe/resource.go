package pe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/png" // icons of games are PNG files
	"io"
	"strconv"
	"strings"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

// Resources is what Windows shows of a program: in Explorer, in the task bar, in its properties, in questions about it. A host is
// built once for all games, so these are put into it when a game is packed.
type Resources struct {
	File        string // name of the program: "Lathe.exe"
	Name        string // what the task manager and questions call it: "The Lathe"
	Version     string // two to four numbers up to 65535
	Publisher   string
	Description string // one line; Name where it is empty
	Icon        []byte // square PNG of 16 to MaxIcon pixels
}

// MaxIcon is the largest side of an icon's picture in pixels: it has 64 MiB in memory. Windows shows 256.
const MaxIcon = 4096

// maxResources is by how many bytes an image may grow: all sizes of an icon have less than 1 MiB before they are packed.
const maxResources = 8 << 20

// The identifiers of what SetResources writes.
const (
	// groupName is how GLFW finds the icon of its windows; Explorer takes the first one there is, and names come before numbers.
	groupName = winres.Name("GLFW_ICON")
	english   = 0x409 // language of the texts, by which Windows finds them on a system of any language
)

// SetResources gives the image of a program with the resources of a game: its icon, its version, and a manifest that asks for no
// rights, for long paths, and for pixels as they are. It replaces what the program had of these and keeps other resources. The
// image itself stays as it was. Offsets within sections do not change, but sections behind the resources move, so it comes after
// patches that were found by their offsets and before signing; a signed image is refused.
func SetResources(image []byte, r Resources) ([]byte, error) {
	h, err := parse(image)
	if err != nil {
		return nil, err
	}
	if h.security.VirtualAddress != 0 {
		return nil, fault(Signed, "its certificates begin at %d", h.security.VirtualAddress)
	}
	set, err := existing(image)
	if err != nil {
		return nil, err
	}
	if err := r.into(set); err != nil {
		return nil, fmt.Errorf("resources of %s: %w", r.File, err)
	}
	return h.place(image, set)
}

// place gives the image with these resources. What lies behind all sections, symbols above all, comes after them.
func (h *header) place(image []byte, set *winres.ResourceSet) ([]byte, error) {
	bare := bytes.Clone(image)
	clear(bare[h.checksum : h.checksum+4])
	out := bounded{room: maxResources + len(image)}
	if err := guarded(func() error { return set.WriteToEXE(&out, bytes.NewReader(bare)) }); err != nil {
		return nil, fault(NoRoom, "%v", err)
	}
	done, err := h.joined(image, out.Bytes())
	if err != nil {
		return nil, err
	}
	h.moveSymbols(done, len(image))
	copy(done[h.checksum:], image[h.checksum:h.checksum+4])
	return done, FixChecksum(done)
}

// joined corrects what lies behind a section that was added for resources: the library leaves out what was behind the last one,
// or, where old resources stay in the middle, writes all that follows them once more.
func (h *header) joined(image, done []byte) ([]byte, error) {
	now, err := parse(done)
	if err != nil {
		return nil, fault(NoRoom, "%v", err) // the headers have grown into what follows them
	}
	if len(now.sections) == len(h.sections) {
		return done, nil
	}
	end := now.sectionsEnd(len(done))
	return append(done[:end:end], image[h.sectionsEnd(len(image)):]...), nil
}

// sectionsEnd is where the last section's data end in a file of this size.
func (h *header) sectionsEnd(size int) (end uint64) {
	for _, s := range h.sections {
		if s.SizeOfRawData > 0 {
			end = max(end, uint64(s.PointerToRawData)+uint64(s.SizeOfRawData))
		}
	}
	return min(end, uint64(size))
}

// bounded takes no more than room bytes: paddings are as long as an image says.
type bounded struct {
	bytes.Buffer
	room int
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.room -= len(data); b.room < 0 {
		return 0, fmt.Errorf("it would grow by more than %d bytes", maxResources)
	}
	return b.Buffer.Write(data)
}

// existing is what an image has, without what SetResources writes.
func existing(image []byte) (set *winres.ResourceSet, err error) {
	err = guarded(func() error {
		set, err = winres.LoadFromEXE(bytes.NewReader(image))
		return err
	})
	if errors.Is(err, winres.ErrNoResources) {
		return &winres.ResourceSet{}, nil
	}
	if err != nil {
		return nil, fault(Malformed, "resources: %v", err)
	}
	kept := &winres.ResourceSet{}
	set.Walk(func(kind, id winres.Identifier, language uint16, data []byte) bool {
		switch kind {
		case winres.RT_ICON, winres.RT_GROUP_ICON, winres.RT_VERSION, winres.RT_MANIFEST:
		default:
			err = kept.Set(kind, id, language, data)
		}
		return err == nil
	})
	return kept, err
}

// guarded turns a panic into an error: the library trusts headers that parse has no opinion about.
func guarded(do func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	return do()
}

// into adds the resources to a set that has none of their kinds.
func (r Resources) into(set *winres.ResourceSet) error {
	icon, err := NewIcon(r.Icon)
	if err != nil {
		return err
	}
	if err := set.SetIcon(groupName, icon); err != nil {
		return err
	}
	info, err := r.versionInfo()
	if err != nil {
		return err
	}
	set.SetVersionInfo(info)
	set.SetManifest(winres.AppManifest{
		Description:         r.Name,
		Compatibility:       winres.Win7AndAbove,
		ExecutionLevel:      winres.AsInvoker,
		DPIAwareness:        winres.DPIPerMonitorV2,
		LongPathAware:       true,
		UseCommonControlsV6: true,
	})
	return nil
}

func (r Resources) versionInfo() (version.Info, error) {
	numbers, err := VersionNumbers(r.Version)
	if err != nil {
		return version.Info{}, err
	}
	info := version.Info{FileVersion: numbers, ProductVersion: numbers}
	description := r.Description
	if description == "" {
		description = r.Name
	}
	for key, text := range map[string]string{
		version.ProductName: r.Name, version.ProductVersion: r.Version, version.FileVersion: r.Version,
		version.CompanyName: r.Publisher, version.FileDescription: description,
		version.OriginalFilename: r.File, version.InternalName: strings.TrimSuffix(r.File, ".exe"),
	} {
		if err := info.Set(english, key, text); err != nil {
			return info, fmt.Errorf("%s %q: %w", key, text, err)
		}
	}
	return info, nil
}

// VersionNumbers reads a version of two to four numbers; those that it lacks are 0.
func VersionNumbers(text string) (numbers [4]uint16, err error) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > len(numbers) {
		return numbers, fmt.Errorf("version %q: want two to four numbers with dots", text)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return numbers, fmt.Errorf("version %q: %q is no number up to 65535", text, part)
		}
		numbers[i] = uint16(n)
	}
	return numbers, nil
}

// NewIcon makes Windows' sizes of an icon from a square PNG.
func NewIcon(data []byte) (*winres.Icon, error) {
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil || kind != "png":
		return nil, errors.New("the icon is not a PNG file")
	case config.Width != config.Height:
		return nil, fmt.Errorf("the icon has %d×%d pixels; want a square", config.Width, config.Height)
	case config.Width < 16 || config.Width > MaxIcon:
		return nil, fmt.Errorf("the icon has a side of %d pixels; want 16 to %d", config.Width, MaxIcon)
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("icon: %w", err)
	}
	return winres.NewIconFromResizedImage(picture, []int{256, 128, 64, 48, 40, 32, 24, 20, 16})
}

// WriteICO writes the same sizes as an .ico file.
func WriteICO(w io.Writer, png []byte) error {
	icon, err := NewIcon(png)
	if err != nil {
		return err
	}
	return icon.SaveICO(w)
}

// moveSymbols corrects where the headers say that GNU's symbol table begins, which lies behind all sections.
func (h *header) moveSymbols(image []byte, before int) {
	at := int(binary.LittleEndian.Uint32(image[peOffset:])) + signatureSize + 8 // IMAGE_FILE_HEADER.PointerToSymbolTable
	symbols := binary.LittleEndian.Uint32(image[at:])
	if symbols != 0 && uint64(symbols) >= h.sectionsEnd(before) {
		binary.LittleEndian.PutUint32(image[at:], uint32(int(symbols)+len(image)-before))
	}
}
