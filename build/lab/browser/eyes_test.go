package browser_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/text/language"

	"collet/assets"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// quiet fails the test at its end if a page has broken the content security policy or a script of ours has thrown. That answers have
// the statuses of failures is what tests ask for, and a browser's advice is not a policy.
func quiet(t *testing.T, ctx context.Context) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, text)
	}
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Source != "network" && e.Entry.Source != "recommendation" {
				note(fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
			}
		case *runtime.EventExceptionThrown:
			note("exception: " + e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if len(all) > 0 {
			t.Errorf("the console says %q", all)
		}
	})
}

// faint are the texts of a page that are hard to read: whose contrast is below what WCAG 2.2 asks for in 1.4.3, 4.5 or 3 where they
// are large. Colours are painted, so that every way to write one counts, and what is behind them is put together.
const faint = `(() => {
	const canvas = document.createElement("canvas"), pen = canvas.getContext("2d", { willReadFrequently: true });
	canvas.width = canvas.height = 1;
	const paint = layers => {
		pen.clearRect(0, 0, 1, 1);
		for (const c of layers) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
		return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255);
	};
	const light = rgb => rgb.map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const behind = e => {
		const layers = [];
		for (; e; e = e.parentElement) layers.unshift(getComputedStyle(e).backgroundColor);
		return ["Canvas", ...layers];
	};
	const found = [];
	for (const e of document.querySelectorAll("body *")) {
		const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join(" ").trim();
		const style = getComputedStyle(e), box = e.getBoundingClientRect();
		if (!text || e.closest(".hide, .zero, .skip, [hidden]") || !box.width || !box.height || style.visibility === "hidden" || !e.checkVisibility()) continue;
		const back = behind(e), a = light(paint([...back, style.color])), b = light(paint(back));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
		if (ratio < (large ? 3 : 4.5)) found.push(text.slice(0, 30) + ": " + ratio.toFixed(2) + " " + style.color + " on " + behind(e).pop());
	}
	return found;
})()`

// nameless are the controls of a page that no screen reader can name, and the words that two pieces of a page share.
const nameless = `[
	...[...document.querySelectorAll("input:not([type=hidden]),select,textarea,button,a,summary")].filter(e => !(e.labels && e.labels.length) && !e.ariaLabel && !e.textContent.trim()).map(e => e.outerHTML),
	...[...document.querySelectorAll("[id]")].filter(e => document.querySelectorAll("#" + CSS.escape(e.id)).length > 1).map(e => "twice: " + e.id),
	...[...document.querySelectorAll("[style],[onclick],script:not([src])")].map(e => e.outerHTML),
]`

// spilled are the pieces of a page that reach out of the card in which they are, and that cannot be scrolled to.
const spilled = `[...document.querySelectorAll(".card *, .lane *")].filter(e => {
	const card = e.closest(".lane") || e.closest(".card"), box = e.getBoundingClientRect();
	return box.width && e.checkVisibility() && !e.closest(".scroll, .hide, summary .state, [hidden]") && box.right > card.getBoundingClientRect().right + 1;
}).map(e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 40))`

// crowded is a server with a long history, odd names and as many clients as are wanted, of many versions on many targets.
func crowded(t *testing.T, clients int) (*house, *operator.Operator, string) {
	t.Helper()
	targets := []string{"Linux-x64", "Windows-win64", "Android-arm64", "macOS-arm64", "iOS-arm64", `<img src=x onerror=alert(1)>`}
	h := start(t, "5-40")
	o := h.operator
	for i := range clients {
		logic := int32(5 + i*i%37) // the last one is not supported
		h.comes(t, logic, targets[i%11%len(targets)], fmt.Sprintf("player-%04d", i))
	}
	change(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 20, 38
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: strings.Repeat("very-long-name.", 12) + "example", Port: 65000, BaseURL: "https://next.example/" + strings.Repeat("p", 300)}
		s.PatchRules = []compat.PatchRule{{Logic: 30, Target: "Windows-*", MinPatch: 2}, {Logic: 31, MinPatch: 4000000000}}
		s.Developers = []string{"ann", strings.Repeat("w", 64)}
	})
	s := o.Settings()
	s.Messages = map[string]string{compat.PopupMaintenance: strings.Repeat("Back soon. ", 80)}
	for _, comment := range []string{strings.Repeat("no-blank-anywhere", 50), strings.Repeat("A long story about why. ", 30) + `<script>alert("x")</script>`} {
		s.AutoUpgrade = !s.AutoUpgrade
		out, err := o.Change(t.Context(), operator.Actor{Name: strings.Repeat("operator", 8), Role: operator.RoleAdmin, Source: compat.SourceAPI, Remote: "2001:db8:1234:5678:9abc:def0:1234:5678"},
			operator.Change{Revision: s.Revision, Settings: s, Comment: comment, Confirm: true})
		if err != nil {
			t.Fatal(err)
		}
		s = out.Settings
	}
	floors(t, o, map[string]int32{strings.Repeat("long", 16): 20, `"><b>odd</b>`: 21})
	return h, o, h.at
}

// TestDashboardIsReadable in English and in the language with the longest texts, light and dark, on a screen and a phone, with no clients and with a thousand: nothing
// is faint, nothing is wider than the screen, and everything has a name.
func TestDashboardIsReadable(t *testing.T) {
	every := map[string]string{"home": "", "players": "/players", "player": "/player?id=%22%3E%3Cb%3Eodd%3C/b%3E", "history": "/audit", "try": "/try", "access": "/access", "releases": "/releases", "nothing": "/nothing"}
	for name, clients := range map[string]int{"empty": 0, "crowded": 1000} {
		pages := maps.Clone(every)
		if clients > 0 { // these look the same with clients and without
			for _, same := range []string{"try", "access", "releases", "nothing"} {
				delete(pages, same)
			}
		}
		t.Run(name, func(t *testing.T) {
			ctx := chromium(t)
			quiet(t, ctx)
			var h *house
			if clients == 0 {
				h = start(t, "5-8")
			} else {
				h, _, _ = crowded(t, clients)
			}
			h.enters(t, ctx)
			at := h.at
			for _, language := range wordiest() {
				does(t, ctx, chromedp.Navigate(at+"/admin"))
				speaks(t, ctx, language)
				does(t, ctx, chromedp.WaitVisible(chromedp.CSS(`html[lang="`+language+`"] #live`)))
				for page, path := range pages {
					for _, width := range []int64{1280, 390} {
						looks(t, ctx, at+"/admin"+path, fmt.Sprintf("%s-%s-%s-%d", name, language, page, width), width)
					}
				}
			}
		})
	}
}

// looks looks at one page.
func looks(t *testing.T, ctx context.Context, url, name string, width int64) {
	t.Helper()
	size := chromedp.EmulateViewport(width, 900)
	if width < 600 {
		size = chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile)
	}
	does(t, ctx, size, chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("main")))
	checks(t, ctx, name, width)
}

// checks looks at the page that is shown, light and dark.
func checks(t *testing.T, ctx context.Context, name string, width int64) {
	t.Helper()
	for _, shade := range []string{"light", "dark"} {
		var hard, unnamed, out []string
		var wide int
		does(t, ctx, scheme(shade), script(faint, &hard), script(nameless, &unnamed), script(fmt.Sprintf(`document.documentElement.scrollWidth - %d`, width), &wide), script(spilled, &out), picture(name+"-"+shade))
		if len(hard) > 0 || len(unnamed) > 0 || len(out) > 0 || wide > 0 {
			t.Errorf("%s, %s: %d too wide; hard to read: %q; without a name: %q; outside of their cards: %q", name, shade, wide, hard, unnamed, out)
		}
	}
}

// TestDashboardDecisionsAreReadable: what a lowering would do to hundreds of clients of many versions, a conflict, and the login.
func TestDashboardDecisionsAreReadable(t *testing.T) {
	ctx := chromium(t)
	quiet(t, ctx)
	h, o, at := crowded(t, 300)
	h.enters(t, ctx)
	for _, width := range []int64{1280, 390} {
		for _, language := range wordiest() {
			size := chromedp.EmulateViewport(width, 844)
			if width < 600 {
				size = chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile)
			}
			does(t, ctx, size, chromedp.Navigate(at+"/admin"))
			speaks(t, ctx, language)
			does(t, ctx, chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS(`html[lang="`+language+`"] #range`)), chromedp.Focus(chromedp.CSS("#range input[name=active_max]")), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.ArrowDown+kb.Enter), chromedp.WaitVisible(chromedp.CSS("form.lowers textarea")))
			checks(t, ctx, fmt.Sprintf("lowering-%s-%d", language, width), width)
			change(t, o, func(s *compat.Settings) { s.AutoUpgrade = !s.AutoUpgrade })
			does(t, ctx, chromedp.SendKeys(chromedp.CSS("form.lowers textarea"), "why"), chromedp.Click(chromedp.CSS("form.lowers [name=confirm]")), chromedp.Click(chromedp.CSS("form.lowers .danger")), chromedp.WaitVisible(chromedp.CSS(".conflict")))
			checks(t, ctx, fmt.Sprintf("conflict-%s-%d", language, width), width)
		}
	}
	does(t, ctx, chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(chromedp.CSS("details")), chromedp.Click(chromedp.CSS("details summary")))
	looks(t, ctx, at+"/admin/login", "login-1280", 1280)
	looks(t, ctx, at+"/admin/login", "login-390", 390)
}

// wordiest are English and the language with the longest texts, as the dashboard calls them.
func wordiest() []string {
	longest, most := "", 0
	for _, tag := range assets.Languages() {
		n := 0
		for _, text := range assets.Dashboard(tag) {
			n += len([]rune(text))
		}
		if n > most {
			longest, most = tag, n
		}
	}
	return []string{"en", language.MustParse(longest).String()}
}

// speaks switches the language at the foot of a page, and waits for the page that answers, also where it speaks it already.
func speaks(t *testing.T, ctx context.Context, language string) {
	t.Helper()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(`footer button[value="`+language+`"]`))); err != nil {
		t.Fatalf("switch to %s: %v", language, err)
	}
}

// TestFaintFindsFaintText: a check of readability that finds nothing says nothing.
func TestFaintFindsFaintText(t *testing.T) {
	ctx := chromium(t)
	var found []string
	does(t, ctx, chromedp.Navigate(`data:text/html,<body style="background:white"><p style="color:%23777">grey</p><p style="color:%23757575">dark</p><p style="color:%23999;font-size:30px">large</p><p style="color:%23888;font-size:30px">fine</p><div style="background:rgb(0 0 0 / 50%)"><p style="color:color-mix(in srgb, white 50%, transparent)">mixed</p></div>`), script(faint, &found))
	names := ""
	for _, f := range found {
		name, _, _ := strings.Cut(f, ":")
		names += name + " "
	}
	if names != "grey large mixed " {
		t.Errorf("found %q", found)
	}
}
