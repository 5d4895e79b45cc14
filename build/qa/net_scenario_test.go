package qa_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"collet/build/qa"
	"collet/build/qa/proxy"
)

func TestParseScenario(t *testing.T) {
	text := `# a comment
name two things
about First this,
about then that.   # and a comment
slow
link rate=500kB delay=80ms
refuse 300ms
fault cut up,down 0,64kB,12.5% connections=all
fault stall down 2MB for=1.5s connections=2-4
fault corrupt up 7 bytes=3
fault black-hole for=forever connections=9
exit 0 21
limit 40s
`
	got, err := qa.ParseScenario("x.net", []byte(text))
	want := qa.Scenario{
		Name: "two things", About: "First this, then that.", Slow: true, Link: proxy.Link{Rate: 500_000, Delay: 80 * time.Millisecond},
		Refuse: 300 * time.Millisecond, Exits: []int{0, 21}, Limit: 40 * time.Second,
		Faults: []qa.NetFault{
			{Kind: proxy.Cut, Directions: []proxy.Direction{proxy.Up, proxy.Down}, At: []qa.Position{{}, {Bytes: 64_000}, {Percent: 12.5, Relative: true}}, First: 1},
			{Kind: proxy.Stall, Directions: []proxy.Direction{proxy.Down}, At: []qa.Position{{Bytes: 2_000_000}}, For: 1500 * time.Millisecond, First: 2, Last: 4},
			{Kind: proxy.Corrupt, Directions: []proxy.Direction{proxy.Up}, At: []qa.Position{{Bytes: 7}}, Bytes: 3, First: 1, Last: 1},
			{Kind: proxy.BlackHole, First: 9, Last: 9},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	if got, err := qa.ParseScenario("dir/short.net", []byte("exit 0")); err != nil || got.Name != "short" || got.Limit <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// All mistakes are reported at once, with file and line.
func TestBadScenarios(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `x.net: no line "exit"`,
		"exit 0\nfall down":                 `x.net:2: unknown word "fall"`,
		"exit":                              `x.net:1: "exit" says nothing more`,
		"exit 0 high":                       `x.net:1: exit code "high": want a number from 0 to 255`,
		"exit 256":                          `exit code "256"`,
		"exit 0\nlimit 10":                  `x.net:2: time "10": want something like 300ms`,
		"limit -1s":                         `time "-1s"`,
		"exit 0\nlimit forever":             `x.net: the limit is not above zero`,
		"link":                              `"link" says nothing more`,
		"link speed=3":                      `"speed=3": want rate=… or delay=…`,
		"link rate=1 rate=2":                `"rate": there are two of them`,
		"link rate=0":                       `rate 0`,
		"link rate=fast":                    `bytes "fast"`,
		"link delay=forever":                `a delay without end is a stall`,
		"fault melt down 0":                 `unknown fault "melt"; want cut, reset`,
		"fault cut":                         `fault cut: want a way (up, down) and a place`,
		"fault cut sideways 0":              `way "sideways": want up`,
		"fault cut up here":                 `bytes "here": want a number like 100`,
		"fault cut up -1":                   `bytes "-1"`,
		"fault cut up 1,":                   `bytes ""`,
		"fault cut up -1%":                  `place "-1%"`,
		"fault cut up NaN%":                 `place "NaN%"`,
		"fault cut up 9e99%":                `place "9e99%"`,
		"fault cut up 1 2":                  `"2": want connections=…`,
		"fault cut up 1 for=1s":             `"for=1s": want connections=…`,
		"fault stall up 1":                  `fault stall: want for=…`,
		"fault swallow up 1":                `fault swallow: want bytes=…`,
		"fault corrupt up 1 bytes=0":        `0 bytes are nothing`,
		"fault cut up 99999999999999999999": `bytes "99999999999999999999"`,
		"fault cut up 9999999999999MB":      `bytes "9999999999999MB"`,
		"fault cut up 1 connections=0":      `connections "0": want all`,
		"fault cut up 1 connections=3-2":    `connections "3-2"`,
		"exit 0\nfault cut up 1\nfault cut up,down 2": `only the first fault may have several`,
		"x\ny": "x.net:1: \"x\" says nothing more\nx.net:2: \"y\" says nothing more",
		"exit 0\n# " + strings.Repeat("long ", 1000): `x.net:2: `,
	} {
		if _, err := qa.ParseScenario("x.net", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestReadScenarios(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	all, err := qa.ReadScenarios(fstest.MapFS{"b.net": file("exit 0"), "a.net": file("exit 1"), "notes.txt": file("no scenario")})
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = qa.ReadScenarios(fstest.MapFS{"a.net": file("nonsense x"), "b.net": file("name c\nexit 0"), "c.net": file("exit 0")})
	for _, want := range []string{`a.net:1: unknown word "nonsense"`, `c.net: another file has the name "c" too`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := qa.ReadScenarios(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), ".net") {
		t.Error(err)
	}
}

// The standard scenarios contain every kind of fault, in both directions if it has one.
func TestStandardScenarios(t *testing.T) {
	all, err := qa.StandardScenarios()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, s := range all {
		if s.About == "" {
			t.Errorf("%s: the description is missing", s.Name)
		}
		for _, f := range s.Faults {
			tried[string(f.Kind)] = true
			for _, way := range f.Directions {
				tried[fmt.Sprintf("%s %s", f.Kind, way)] = true
			}
		}
	}
	for _, want := range []string{
		"cut up", "cut down", "reset up", "reset down", "truncate up", "truncate down", "stall up", "stall down",
		"half-open up", "half-open down", "duplicate down", "corrupt up", "corrupt down", "swallow down", "black-hole",
	} {
		if !tried[want] {
			t.Errorf("nothing tries %s", want)
		}
	}
}
