-- A game that is a program talks to Collet. Lua 5.1 to 5.4 and LuaJIT, also in LÖVE:  local collet = require "collet"
--
-- Started without Collet, every call does nothing and returns false or nil. update_available and stop_requested read a
-- small file: call them once a second, not once a frame. See docs/PROGRAMS.md, "Helper".

local collet = {}

local function say(word, text)
  local name = os.getenv("COLLET_EVENTS")
  if not name or name == "" then return false end
  local line = text and (word .. " " .. tostring(text)) or word
  local events = io.open(name, "ab")
  if not events then return false end
  local written = events:write((line:gsub("[\r\n]", " ")) .. "\n")
  return events:close() and written ~= nil
end

local function find(word)
  local name = os.getenv("COLLET_STATE")
  if not name or name == "" then return nil end
  local state = io.open(name, "rb")
  if not state then return nil end
  local found
  for line in state:lines() do
    local first, rest = line:gsub("\r$", ""):match("^(%S+) ?(.*)$")
    if first == word then found = rest break end
  end
  state:close()
  return found
end

-- The game has started: the release has proven itself. Call it when the first frame is shown.
function collet.ready() return say("ready") end

-- What the game does before it is ready, in at most 1000 bytes.
function collet.progress(text) return say("progress", text) end

-- The version of a newer release that is ready for the next start, or nil.
function collet.update_available() return find("update") end

-- Asks to be started again. The game then ends by itself, with a clean exit code.
function collet.restart_to_update() return say("restart") end

-- Whether the game should save and end.
function collet.stop_requested() return find("stop") ~= nil end

return collet
