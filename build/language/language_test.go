package language

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"collet/assets"
)

// tree is where the languages are.
var tree = filepath.Join("..", "..", "assets", "lang")

// TestLanguagesAreComplete: nothing is missing or wrong in any language.
func TestLanguagesAreComplete(t *testing.T) {
	languages := os.DirFS(tree)
	all, err := Tags(languages)
	if err != nil || len(all) != len(assets.Languages()) {
		t.Fatalf("languages %q, embedded are %q, %v", all, assets.Languages(), err)
	}
	for _, tag := range all {
		problems, err := Check(languages, tag)
		if err != nil {
			t.Error(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
	}
}

// small is a folder of languages with an English of a few texts, and another one.
func small() fstest.MapFS {
	files := map[string]string{
		"en/window.json":    `{"button.quit": "Quit", "end.x.title": "It ends", "end.x.body": "The server {host} is away.", "size.b": "{n} B", "count": "File {n} of {total}", "size.of": "{done} of {total}"}`,
		"en/dashboard.json": `{"clients.one": "{n} client", "clients.other": "{n} clients", "kind.other": "other", "why: %d is above %d": "$1 is above $2"}`,
		"en/setup.json":     `{"start": "&Start {game}"}`,
		"pl/about.json":     `{"name": "Polski", "nsis": "Polish", "lcid": "1045"}`,
		"pl/window.json":    `{"button.quit": "Wyjdź", "end.x.title": "Koniec", "end.x.body": "Serwer {host} nie odpowiada.", "size.b": "{n} B", "count": "Plik {n} z {total}", "size.of": "{done} z {total}"}`,
		"pl/dashboard.json": `{"clients.one": "{n} klient", "clients.few": "{n} klienci", "clients.many": "{n} klientów", "kind.other": "inne", "why: %d is above %d": "$1 jest powyżej $2"}`,
		"pl/setup.json":     `{"start": "&Uruchom {game}"}`,
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// TestCheck is the table of mistakes, each in a language that was complete before.
func TestCheck(t *testing.T) {
	if problems, err := Check(small(), "pl"); err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for want, edit := range map[string][3]string{ // a file, what is replaced in it, and by what
		`pl/window.json: "button.quit" is missing; English has "Quit"`:                 {"window", `"button.quit": "Wyjdź", `, ``},
		`pl/window.json: "button.exit" is a key that English has not`:                  {"window", `{`, `{"button.exit": "x", `},
		`pl/window.json: "button.quit" is there twice`:                                 {"window", `{`, `{"button.quit": "x", `},
		`"end.x.body" has the placeholders ["{hots}"], English has ["{host}"]`:         {"window", `{host}`, `{hots}`},
		`"end.x.body" has a broken placeholder`:                                        {"window", `{host}`, `{host} {host`},
		`"button.quit" is empty or has stray blanks: "Wyjdź "`:                         {"window", `Wyjdź`, `Wyjdź `},
		`"button.quit" has a character that can't be shown`:                            {"window", `Wyjdź`, `Wy\u0007jdź`},
		`"end.x.body" is not translated`:                                               {"window", `Serwer {host} nie odpowiada.`, `The server {host} is away.`},
		`"button.quit" has 45 columns, and 34 fit`:                                     {"window", `Wyjdź`, strings.Repeat("Wyjdź", 9)},
		`"count" has the word "plików" behind a number`:                                {"window", `{n} z`, `{n} plików z`},
		`"fonts" names no fonts of linux: the window's own font lacks letters such as`: {"window", `Wyjdź`, `退出`},
		`pl/dashboard.json: "clients.many" is missing; English has "{n} clients"`:      {"dashboard", `"clients.many": "{n} klientów", `, ``},
		`"clients.other" is a key that English has not, or a form`:                     {"dashboard", `clients.many`, `clients.other`},
		`"why: %d is above %d" has the placeholders ["$1"], English has ["$1" "$2"]`:   {"dashboard", `powyżej $2`, `powyżej`},
		`pl/setup.json: "start" marks no letter with &`:                                {"setup", `&Uruchom`, `Uruchom`},
		`pl/setup.json: pl/setup.json: invalid character`:                              {"setup", `{"start`, `{start`},
		`pl/about.json: "lcid" is missing`:                                             {"about", `, "lcid": "1045"`, ``},
		`pl/about.json: json: unknown field "lcids"`:                                   {"about", `lcid`, `lcids`},
		`"fonts" "[": syntax error in pattern`:                                         {"about", `}`, `, "fonts": {"linux": ["["]}}`},
	} {
		files, name := small(), "pl/"+edit[0]+".json"
		before := string(files[name].Data)
		files[name] = &fstest.MapFile{Data: []byte(strings.Replace(before, edit[1], edit[2], 1))}
		if string(files[name].Data) == before {
			t.Fatalf("%q: nothing was replaced", want)
		}
		problems, err := Check(files, "pl")
		said := ""
		for _, p := range problems {
			said += p.String() + "\n"
		}
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("want %q, %v:\n%s", want, err, said)
		}
	}
}

// TestCheckNewLanguage says what a language lacks of which nothing is there, and refuses what is none.
func TestCheckNewLanguage(t *testing.T) {
	problems, err := Check(small(), "ko")
	if err != nil || len(problems) != 4 || problems[0].String() != "ko/window.json: is not there: copy en/window.json, which has 6 texts, and translate them" {
		t.Error(err, problems)
	}
	for _, tag := range []string{"", "x", "DE", "de_DE", "../de"} {
		if _, err := Check(small(), tag); err == nil || !strings.Contains(err.Error(), "is no language") {
			t.Errorf("%q: %v", tag, err)
		}
	}
	if _, err := Check(fstest.MapFS{}, "de"); err == nil {
		t.Error("English is not there")
	}
	var _ fs.FS = small()
}
