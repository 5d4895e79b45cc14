// Command minimal is the least that can be called a splash: Fyne's splash window with the same picture as the client's
// and one label. The bench of the first frame measures the client against it.
//
// It ends when it is told to (SIGTERM) or when its window is closed.
package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"collet"
	"collet/assets"
)

// pictureSize is that of the splash picture in pixels, taken as units, as the client does.
var pictureSize = fyne.NewSize(640, 360)

func main() {
	a := app.NewWithID(collet.AppID() + ".bench")
	w := a.NewWindow("Minimal splash")
	if driver, is := a.Driver().(desktop.Driver); is {
		w = driver.CreateSplashWindow()
	}
	picture := canvas.NewImageFromResource(fyne.NewStaticResource("splash.png", assets.SplashPNG))
	picture.SetMinSize(pictureSize)
	w.SetContent(container.NewVBox(picture, widget.NewLabel("Starting")))
	w.CenterOnScreen()
	w.ShowAndRun()
}
