package pack

import "testing"

// TestPatterns has what the patterns of [files] fit.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.log", "a.log", true}, {"*.log", "x/y/a.log", true}, {"*.log", "a.logs", false},
		{"saves", "saves/1/a", true}, {"saves", "x/saves/a", true}, {"saves/", "saves/a", true}, {"saves", "savess", false},
		{"/saves", "saves/a", true}, {"/saves", "x/saves/a", false},
		{"config/*.ini", "config/a.ini", true}, {"config/*.ini", "x/config/a.ini", false}, {"config/*.ini", "config/x/a.ini", false},
		{"config/**", "config/x/a.ini", true}, {"config/**", "config", false}, {"config/**/a.ini", "config/a.ini", true}, {"config/**/a.ini", "config/x/y/a.ini", true},
		{"**/config/a.ini", "x/y/config/a.ini", true}, {"**", "a", true}, {"a?c", "abc", true}, {"[ab]c", "ac", true}, {"[ab]c", "cc", false},
	} {
		if got := fits(test.pattern, test.name); got != test.want {
			t.Errorf("%q fits %q: %v", test.pattern, test.name, got)
		}
		if err := checkPattern(test.pattern); err != nil {
			t.Errorf("%q: %v", test.pattern, err)
		}
	}
	for _, pattern := range []string{"", "/", "a//b", "[", `a\b`, "../a", "a/./b", "a**"} {
		if checkPattern(pattern) == nil {
			t.Errorf("%q passes", pattern)
		}
	}
}

// TestFindHost finds the host of a target beside the program collet.
func TestFindHost(t *testing.T) {
	t.Parallel()
	c := &launchChecker{hosts: "testdata/none", found: map[string]bool{}}
	if got := c.findHost("Linux-x64"); got != "" {
		t.Errorf("found %s in no folder", got)
	}
}
