package splash

import "fyne.io/fyne/v2/lang"

// SystemLocale is the system's language, in a form for assets.TextsFor ("ru-RU"). On Windows and macOS it comes from the
// system, elsewhere from the usual environment variables. It needs no window.
func SystemLocale() string { return lang.SystemLocale().LanguageString() }
