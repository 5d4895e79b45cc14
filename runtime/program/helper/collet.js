// A game that is a program talks to Collet: Electron, NW.js, RPG Maker MV and MZ, and any other Node.js. One file, no package.
//   Node.js, Electron's main process:  const collet = require("./collet.js")
//   NW.js, RPG Maker:                  <script src="collet.js"></script>, or as a plugin; then it is called Collet
//
// Started without Collet, every call does nothing and returns false or null. updateAvailable and stopRequested read a small
// file: call them once a second, not once a frame. See docs/PROGRAMS.md, "Helper".
(function (root) {
  "use strict";
  var fs = null, env = {};
  try { // a browser has neither
    fs = require("fs");
    env = process.env;
  } catch (e) { fs = null; }

  function say(line) {
    if (!fs || !env.COLLET_EVENTS) return false;
    try {
      fs.appendFileSync(env.COLLET_EVENTS, line.replace(/[\r\n]/g, " ") + "\n");
      return true;
    } catch (e) { return false; }
  }

  function find(word) {
    if (!fs || !env.COLLET_STATE) return null;
    try {
      var lines = fs.readFileSync(env.COLLET_STATE, "utf8").split(/\r?\n/);
      for (var i = 0; i < lines.length; i++) {
        if (lines[i] === word) return "";
        if (lines[i].indexOf(word + " ") === 0) return lines[i].slice(word.length + 1);
      }
    } catch (e) { /* Collet is gone */ }
    return null;
  }

  var collet = {
    // The game has started: the release has proven itself. Call it when the first frame is shown.
    ready: function () { return say("ready"); },
    // What the game does before it is ready, in at most 1000 bytes.
    progress: function (text) { return say("progress " + text); },
    // The version of a newer release that is ready for the next start, or null.
    updateAvailable: function () { return find("update"); },
    // Asks to be started again. The game then ends by itself, with a clean exit code.
    restartToUpdate: function () { return say("restart"); },
    // Whether the game should save and end.
    stopRequested: function () { return find("stop") !== null; }
  };
  root.Collet = collet;
  if (typeof module === "object" && module.exports) module.exports = collet;
})(typeof globalThis === "object" ? globalThis : this);
