package splash

import "fyne.io/fyne/v2/lang"

// SystemLocale is the language that the system is set to, in a form that assets.TextsFor takes ("ru-RU"). On Windows and
// macOS it comes from the system itself, elsewhere from the usual variables of the environment. It needs no window.
func SystemLocale() string { return lang.SystemLocale().LanguageString() }
