// Package browser tries the server's dashboard in a real browser: what its script does, what the keyboard reaches, and whether its
// pages can be read in each language, light and dark, on a screen and a phone. What the dashboard answers is tried beside the server.
package browser
