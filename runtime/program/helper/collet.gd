# A game that is a program talks to Collet, in Godot 3 and 4. Add this file as a singleton named Collet (Project Settings,
# AutoLoad), and call Collet.ready_to_play(). See docs/PROGRAMS.md, "Helper".
#
# Started without Collet, every call does nothing and returns false or null. update_available and stop_requested read a
# small file: call them once a second, not once a frame.
extends Node

# The game has started: the release has proven itself. Call it when the first frame is shown. The name ready is the engine's.
func ready_to_play():
	return _say("ready")

# What the game does before it is ready, in at most 1000 bytes.
func progress(text):
	return _say("progress " + text)

# The version of a newer release that is ready for the next start, or null.
func update_available():
	return _find("update")

# Asks to be started again. The game then ends by itself: get_tree().quit().
func restart_to_update():
	return _say("restart")

# Whether the game should save and end.
func stop_requested():
	return _find("stop") != null

func _say(line):
	var name = OS.get_environment("COLLET_EVENTS")
	if name == "":
		return false
	return _append(name, line.replace("\n", " ").replace("\r", " ") + "\n")

func _find(word):
	var name = OS.get_environment("COLLET_STATE")
	if name == "":
		return null
	for line in _read(name).split("\n"):
		if line == word:
			return ""
		if line.begins_with(word + " "):
			return line.substr(word.length() + 1)
	return null

# Godot 4 has FileAccess in place of File; compiled at run time, so that each version sees only its own class.
func _append(name, text):
	return _file("	var f = %s\n	if f == null:\n		return false\n	f.seek_end()\n	f.store_string(b)\n	f.close()\n	return true\n", name, text, true)

func _read(name):
	return _file("	var f = %s\n	if f == null:\n		return \"\"\n	var t = f.get_as_text()\n	f.close()\n	return t\n", name, "", false)

func _file(body, name, text, write):
	var opened = "FileAccess.open(a, FileAccess.%s)" % ("READ_WRITE" if write else "READ")
	var before = ""
	if Engine.get_version_info().major < 4:
		before = "func o(a):\n	var f = File.new()\n	return f if f.open(a, File.%s) == OK else null\n" % ("READ_WRITE" if write else "READ")
		opened = "o(a)"
	var script = GDScript.new()
	script.source_code = ("extends %s\n" % ("Reference" if Engine.get_version_info().major < 4 else "RefCounted")) + before + "func run(a, b):\n" + body % opened
	if script.reload() != OK:
		return false if write else ""
	return script.new().run(name, text)
