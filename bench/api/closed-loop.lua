-- Closed-loop load generator, run by the LuaJIT inside wrk: each connection sends its next request as soon as it has
-- its answer. With waitMs 0 it never sleeps, so that the server need not wake it: waking a process costs its waker
-- CPU, and the slower a server is, the more often its generator would sleep. At the end it prints a line of JSON.
--
-- It needs sockets.lua and http-client.lua before it, and: port, connections, forS, waitMs (1: it sleeps while no
-- answer has arrived), nextRequest (a function that returns the bytes of a request).
local ROOM, TURN, LATE_US = 16384, 64, 2000000

local fds = connectAll(connections)
local askedUs = ffi.new("double[?]", connections)
-- `shared` receives answers that arrive whole, for all connections; `parts` gathers, for each connection, an answer
-- that arrives in parts.
local shared = ffi.new("char[?]", ROOM)
local parts = ffi.new("char[?]", connections * ROOM)
local got = ffi.new("int32_t[?]", connections)

-- Microseconds; read once for each turn of the loop: reading the clock for each answer would cost as much as counting
-- it.
local nowUs = now()
local function ask(which)
  local text = nextRequest()
  if C.send(fds[which], text, #text, MSG_DONTWAIT + MSG_NOSIGNAL) ~= #text then fail("a request was not taken whole") end
  askedUs[which] = nowUs
end

local answered, wrong, late = 0, 0, 0
local function receive(which)
  local have = got[which]
  local own = parts + which * ROOM
  local into = have == 0 and shared or own
  have = receiveMore(fds[which], into, have, ROOM)
  if have == nil then return end
  if not isWhole(into, have) then
    if have == ROOM then fail("an answer was too long") end
    if got[which] == 0 then ffi.copy(own, shared, have) end
    got[which] = have
    return
  end
  got[which] = 0
  if isRight(into) then answered = answered + 1 else wrong = wrong + 1 end
  if nowUs - askedUs[which] >= LATE_US then late = late + 1 end
  ask(which)
end

local events = ffi.new("epoll_event[?]", TURN)
local startUs = now()
local untilUs = startUs + forS * 1e6
for which = 0, connections - 1 do ask(which) end
while nowUs < untilUs do
  local ready = C.epoll_wait(epoll, events, TURN, waitMs)
  nowUs = now()
  for i = 0, ready - 1 do receive(events[i].which) end
end
-- A request that is still unanswered at the end may be late, too.
for which = 0, connections - 1 do
  if nowUs - askedUs[which] >= LATE_US then late = late + 1 end
end
io.write(string.format('\n{"answered":%d,"wrong":%d,"late":%d,"wallMs":%.3f}\n', answered, wrong, late, (nowUs - startUs) / 1000))
io.stdout:flush()
os.exit(0)
