package browser_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/signintest"
)

// shotsEnv names a folder for pictures of the dashboard, for people to look at; without it none are kept.
const shotsEnv = "COLLET_SHOTS"

// chromium starts a browser for a test, or skips it where there is none.
func chromium(t *testing.T) context.Context {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("NOT TESTED IN A BROWSER: there is no chromium on this machine; install it, make setup does")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("lang", "en-GB"))
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	ctx, stopProgram := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		closeTab()
		stopProgram()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil { // it starts here, so that it outlives the first step
		t.Fatal(err)
	}
	return ctx
}

// step is something that the browser does.
type step = chromedp.Action[chromedp.Void]

// does drives the browser, and shows what it has come to where that goes wrong.
func does(t *testing.T, ctx context.Context, steps ...step) {
	t.Helper()
	for i, s := range steps {
		brief, enough := context.WithTimeout(ctx, time.Minute)
		err := chromedp.Do(brief, s)
		enough()
		if err != nil {
			page, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`)) // as much as there is
			t.Fatalf("step %d: %v\n%.3000s", i, err, page)
		}
	}
}

// into keeps what an action finds.
func into[T any](place *T, found chromedp.Action[T]) step {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		value, err := found(ctx, tab)
		*place = value
		return chromedp.Void{}, err
	}
}

// script keeps what an expression is on the page.
func script[T any](expression string, place *T) step {
	return into(place, chromedp.Evaluate[T](expression))
}

// picture keeps what the browser shows where a folder for pictures is named.
func picture(name string) step {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		folder := os.Getenv(shotsEnv)
		if folder == "" {
			return nil
		}
		if _, err := chromedp.Evaluate[bool](`scrollTo(0, 0), true`)(ctx, tab); err != nil {
			return err
		}
		png, err := chromedp.FullScreenshot(100)(ctx, tab)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644)
	})
}

// scheme is what the reader prefers.
func scheme(name string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	})
}

// TestDashboardInABrowser changes the range with the keyboard alone, sees what it would do while typing, and is asked to confirm.
func TestDashboardInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, o, at := busy(t)
	h.enters(t, ctx)
	var tried, title, background, dark string
	var draft, wide, narrow int
	var faults []string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), scheme("light"),
		chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("#range input[name=active_max]")),
		script(`getComputedStyle(document.body).backgroundColor`, &background),
		picture("desktop-light"),
		chromedp.Focus(chromedp.CSS("#range input[name=active_max]")), chromedp.KeyEvent(kb.ArrowDown),
		chromedp.WaitVisible(chromedp.CSS("#range .trial .card.lowers")),
		into(&tried, chromedp.Text(chromedp.CSS("#range .trial"))),
		script(`document.querySelectorAll(".ruler .draft").length`, &draft),
		picture("desktop-light-trial"),
		scheme("dark"), script(`getComputedStyle(document.body).backgroundColor`, &dark), picture("desktop-dark"),
		chromedp.Focus(chromedp.CSS("#range input[name=active_max]")), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(chromedp.CSS("form.lowers textarea")), picture("review-dark"), scheme("light"), picture("review-light"),
		script(`document.documentElement.scrollWidth - innerWidth`, &wide),
	)
	for _, want := range []string{"CLIENT_TOO_NEW", "10 clients could not reconnect", "8\tLinux-x64"} {
		if !strings.Contains(tried, want) {
			t.Errorf("while typing: %q lacks %q", tried, want)
		}
	}
	if draft != 2 || background == dark || wide > 0 {
		t.Errorf("draft %d, light %s, dark %s, %d too wide", draft, background, dark, wide)
	}
	does(t, ctx,
		chromedp.Click(chromedp.CSS("form.lowers button.danger")), // without a comment the browser itself keeps it
		chromedp.WaitVisible(chromedp.CSS("form.lowers")), chromedp.SendKeys(chromedp.CSS("form.lowers textarea"), "8 loses items"),
		chromedp.Click(chromedp.CSS("form.lowers input[name=confirm]")), chromedp.Submit(chromedp.CSS("form.lowers textarea")),
		chromedp.WaitVisible(chromedp.CSS(".note.good")), into(&title, chromedp.Text(chromedp.CSS("h1"))),
	)
	if s := o.Settings(); s.ActiveMax != 7 || s.Revision != 3 || title != "Versions 6 to 7 may connect" {
		t.Errorf("%q, %+v", title, s)
	}
	does(t, ctx,
		chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("#range")),
		script(`document.documentElement.scrollWidth - 390`, &narrow), picture("phone-light"), scheme("dark"), picture("phone-dark"),
		script(`[...document.querySelectorAll("input:not([type=hidden]),select,textarea,button,a")].filter(e => !(e.labels && e.labels.length) && !e.ariaLabel && !e.textContent.trim()).map(e => e.outerHTML)`, &faults),
	)
	if narrow > 0 || len(faults) > 0 {
		t.Errorf("on a phone: %d too wide; without a name: %v", narrow, faults)
	}
}

// TestDashboardLinesInABrowser adds and removes lines of a list, and picks a version on the number line.
func TestDashboardLinesInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, o, at := busy(t)
	h.enters(t, ctx)
	var rows, value string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"),
		chromedp.WaitVisible(chromedp.CSS("#patch [data-more]")), chromedp.Click(chromedp.CSS("#patch [data-more]")), chromedp.Click(chromedp.CSS("#patch tbody tr:first-child [data-drop]")),
		script(`String(document.querySelectorAll("#patch tbody tr").length)`, &rows),
		chromedp.Click(chromedp.CSS(`.ruler li[data-logic="5"]`)), into(&value, chromedp.Value(chromedp.CSS("#range input[name=active_min]"))),
		chromedp.Click(chromedp.CSS("#patch .primary")), chromedp.WaitVisible(chromedp.CSS("form.apply")), chromedp.Click(chromedp.CSS("form.apply .primary")), chromedp.WaitVisible(chromedp.CSS(".note.good")),
	)
	if s := o.Settings(); rows != "3" || value != "5" || len(s.PatchRules) != 1 || s.PatchRules[0].Target != "Windows-win64" || s.ActiveMin != 6 {
		t.Errorf("%s rows, %s, %+v", rows, value, s)
	}
}

// TestDashboardLoginInABrowser logs in and out by keyboard, under a policy that lets no script in a page run.
func TestDashboardLoginInABrowser(t *testing.T) {
	ctx := chromium(t)
	_, o, at := busy(t)
	secret, err := o.Tokens.Create(editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	var cookie, where string
	var injected bool
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), picture("login-light"),
		chromedp.SendKeys(chromedp.CSS("input[name=token]"), secret+kb.Enter), chromedp.WaitVisible(chromedp.CSS("#range")), script(`document.cookie`, &cookie),
		script(`(() => { const s = document.createElement("script"); s.textContent = "window.injected = 1"; document.body.append(s); return window.injected === 1 })()`, &injected),
		chromedp.Navigate(at+"/admin/access"), chromedp.WaitVisible(chromedp.CSS("table")), picture("access-light"),
		chromedp.Navigate(at+"/admin/audit?verify=1"), chromedp.WaitVisible(chromedp.CSS(".note.good")), picture("history-light"),
		chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(chromedp.CSS("input[name=token]")), into(&where, chromedp.Location()),
	)
	if cookie != "" || injected || where != at+"/admin/login" {
		t.Errorf("cookie %q, injected %v, at %s", cookie, injected, where)
	}
}

// TestDashboardWithoutScriptInABrowser reads, changes and is told of a conflict where no script may run.
func TestDashboardWithoutScriptInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, o, at := busy(t)
	h.enters(t, ctx)
	var live, conflict, state string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			return err
		}),
		chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS(".ruler .active")), into(&live, chromedp.Text(chromedp.CSS("#live"))),
		chromedp.WaitNotVisible(chromedp.CSS("#patch [data-more]")),
		chromedp.Click(chromedp.CSS("#maintenance input[name=enabled]")), chromedp.Click(chromedp.CSS("#maintenance .primary")),
		chromedp.WaitVisible(chromedp.CSS("form.apply")),
	)
	change(t, o, func(s *compat.Settings) { s.AutoUpgrade = true })
	does(t, ctx,
		chromedp.SendKeys(chromedp.CSS("form.apply textarea"), "moving house"), chromedp.Click(chromedp.CSS("form.apply .primary")),
		chromedp.WaitVisible(chromedp.CSS(".conflict")), into(&conflict, chromedp.Text(chromedp.CSS(".conflict"))), picture("conflict-light"),
		chromedp.Click(chromedp.CSS("form.apply .primary")), chromedp.WaitVisible(chromedp.CSS(".note.good")),
		into(&state, chromedp.Text(chromedp.CSS("#maintenance .state"))), picture("maintenance-light"),
	)
	if s := o.Settings(); !strings.Contains(live, "Windows-win64") || !strings.Contains(conflict, "auto_upgrade") || state != "on" || !s.Maintenance.Enabled || !s.AutoUpgrade {
		t.Errorf("live %q, conflict %q, state %q, %+v", live, conflict, state, s)
	}
}

// TestDashboardFollowsInABrowser shows who has come since, while the page is left alone.
func TestDashboardFollowsInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, _, at := busy(t)
	h.enters(t, ctx)
	does(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin"), chromedp.WaitVisible(chromedp.CSS("#games")))
	checks(t, ctx, "games", 1280)
	h.comes(t, 7, "macOS-arm64", "")
	does(t, ctx, chromedp.WaitVisible(chromedp.Search(`//*[@id="live"]//table[contains(@class, "grid")]//th[text()="macOS-arm64"]`)))
}

// TestDashboardReleasesInABrowser proposes that a release is offered to fewer players.
func TestDashboardReleasesInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, _, at := busy(t)
	h.enters(t, ctx)
	var waits string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin/releases"), chromedp.WaitVisible(chromedp.CSS("#propose")), picture("releases"),
		script(`(document.querySelector("input[name=percent]").value = "10", "")`, new(string)),
		chromedp.SendKeys(chromedp.CSS("textarea[name=comment]"), "crashes were reported"), chromedp.Click(chromedp.CSS("main button.primary")),
		chromedp.WaitVisible(chromedp.CSS("#waiting")), into(&waits, chromedp.Text(chromedp.CSS("main"))), picture("releases-proposed"),
	)
	for _, want := range []string{"Nothing is public yet", "collet release approve", "0 of 1 signatures", "10 % of the players"} {
		if !strings.Contains(waits, want) {
			t.Errorf("the page lacks %q: %s", want, waits)
		}
	}
}

// TestDashboardPromotesInABrowser proposes that a release of one channel is offered in another, and reads what players will fetch.
func TestDashboardPromotesInABrowser(t *testing.T) {
	ctx := chromium(t)
	h, _, at := busy(t)
	h.enters(t, ctx)
	var made string
	does(t, ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(at+"/admin/releases"), chromedp.WaitVisible(chromedp.CSS("#propose")),
		script(`(document.querySelector("select[name=release]").value = "lathe/beta/3", document.querySelector("select[name=action]").value = "promote", document.querySelector("select[name=into]").value = "stable", "")`, new(string)),
		chromedp.SendKeys(chromedp.CSS("textarea[name=comment]"), "testers like it"), chromedp.Click(chromedp.CSS("main button.primary")),
		chromedp.WaitVisible(chromedp.CSS("#waiting")), into(&made, chromedp.Text(chromedp.CSS("main"))), picture("releases-promoted"),
	)
	for _, want := range []string{"What players of that channel will fetch:", "Linux-x64, from release 2: no patch; at most", "lathe/stable/Linux-x64/3"} {
		if !strings.Contains(made, want) {
			t.Errorf("the page lacks %q: %s", want, made)
		}
	}
}

// TestDashboardSignInInABrowser signs in with an account of a provider, and is told why another one may not.
func TestDashboardSignInInABrowser(t *testing.T) {
	ctx := chromium(t)
	provider := signintest.New(t)
	h := start(t, "5-8", provider)
	provider.Claims = map[string]any{"email": "eve@example.org"}
	button, refusal, who := chromedp.CSS(`a[href="/admin/signin"]`), "", ""
	does(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(h.at+"/admin"), chromedp.WaitVisible(button), picture("signin"), chromedp.Click(button),
		chromedp.WaitVisible(chromedp.CSS(`[role="alert"]`)), into(&refusal, chromedp.Text(chromedp.CSS(`[role="alert"]`))))
	checks(t, ctx, "signin-refused", 1280)
	if !strings.Contains(refusal, "knows you as eve@example.org, but that account has no rights here") {
		t.Error(refusal)
	}
	looks(t, ctx, h.at+"/admin/login", "signin-phone", 390)
	provider.Claims = map[string]any{"email": "ada@example.org", "groups": []string{"admins"}}
	does(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Click(button), chromedp.WaitVisible(chromedp.CSS("#live")), into(&who, chromedp.Text(chromedp.CSS(".user"))), picture("signed-in"),
		chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(button))
	if !strings.Contains(who, "ada@example.org") {
		t.Error(who)
	}
}
