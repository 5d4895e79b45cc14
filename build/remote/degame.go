package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"collet/netproto/launcher/wire"
)

const (
	// gameFile is the extension of a game's description.
	gameFile = ".degame"
	// pathConfig and pathCapture are the launcher's folders for a game's settings and screenshots. Released launchers refuse a description
	// without them (docs/REMOTE.md, "The desk"). @ is the launcher's folder for the game's identifier.
	pathConfig  = "@user_config/%s"
	pathCapture = "@user_capture/%s"
	// Values of a default description. The engine's own launcher needs the real ones for a game with scripts; Collet's launcher ignores
	// them.
	scriptFolder  = "/scripts"
	scriptModule  = "DragengineScript"
	scriptVersion = "1.0"
	windowWidth   = 1280
	windowHeight  = 720
)

// GameConfig returns the description with which a game is started. That is the content of file; if file is empty, the only file in the
// working copy's root with the extension .degame; without one, a default made from the folder's name. from is the file's name, or empty for
// the default.
func GameConfig(root, file string) (text, from string, err error) {
	if file == "" {
		if file, err = findGame(root); err != nil {
			return "", "", err
		}
	}
	if file == "" {
		text, err = defaultGame(root)
		return text, "", err
	}
	text, err = readGame(file)
	return text, file, err
}

// findGame finds the only description in a folder; empty if there is none.
func findGame(root string) (string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), gameFile) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(root, found[0]), nil
	}
	return "", fmt.Errorf("the working copy has %d games: %s; say which one with --game", len(found), strings.Join(found, ", "))
}

// readGame reads a description and checks the launchers' requirements.
func readGame(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wire.MaxText+1))
	if err == nil {
		err = checkGame(data)
	}
	if err != nil {
		return "", fmt.Errorf("game %q: %w", file, err)
	}
	return string(data), nil
}

// checkGame refuses a description that launchers would refuse.
func checkGame(data []byte) error {
	if len(data) > wire.MaxText {
		return fmt.Errorf("it is longer than the %d bytes that can be sent; shorten it", wire.MaxText)
	}
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8; save it as UTF-8")
	}
	have := map[string]bool{}
	decoder := xml.NewDecoder(strings.NewReader(string(data)))
	for depth := 0; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("it is no XML: %w; repair it", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 && t.Name.Local != "degame" {
				return fmt.Errorf("its root is %q; want degame", t.Name.Local)
			}
			if depth == 1 {
				have[t.Name.Local] = true
			}
			depth++
		case xml.EndElement:
			depth--
		}
	}
	missing := slices.DeleteFunc([]string{"identifier", "pathConfig", "pathCapture"}, func(name string) bool { return have[name] })
	if len(missing) > 0 {
		return fmt.Errorf("it lacks %s, which launchers demand; add it", strings.Join(missing, " and "))
	}
	return nil
}

// game is a description with the members of the engine's editor, in its order.
type game struct {
	XMLName         xml.Name `xml:"degame"`
	Identifier      string   `xml:"identifier"`
	Title           string   `xml:"title"`
	Description     string   `xml:"description"`
	Creator         string   `xml:"creator"`
	Homepage        string   `xml:"homepage"`
	ScriptDirectory string   `xml:"scriptDirectory"`
	GameObject      string   `xml:"gameObject"`
	PathConfig      string   `xml:"pathConfig"`
	PathCapture     string   `xml:"pathCapture"`
	ScriptModule    struct {
		Version string `xml:"version,attr"`
		Name    string `xml:",chardata"`
	} `xml:"scriptModule"`
	WindowSize struct {
		X int `xml:"x,attr"`
		Y int `xml:"y,attr"`
	} `xml:"windowSize"`
}

// defaultGame makes a description from a folder's name. The result is the same on every machine.
func defaultGame(root string) (string, error) {
	title := strings.ToValidUTF8(filepath.Base(root), "_")
	id := identifier(title)
	g := game{
		Identifier: id, Title: title, ScriptDirectory: scriptFolder, GameObject: "Game",
		PathConfig: fmt.Sprintf(pathConfig, id), PathCapture: fmt.Sprintf(pathCapture, id),
	}
	g.ScriptModule.Version, g.ScriptModule.Name = scriptVersion, scriptModule
	g.WindowSize.X, g.WindowSize.Y = windowWidth, windowHeight
	text, err := xml.MarshalIndent(g, "", "\t")
	return xml.Header + string(text) + "\n", err
}

// identifier derives a UUID from a title (RFC 9562, version 8: application-defined).
func identifier(title string) string {
	sum := sha256.Sum256([]byte("collet degame " + title))
	sum[6], sum[8] = sum[6]&0x0F|0x80, sum[8]&0x3F|0x80
	digits := hex.EncodeToString(sum[:16])
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
