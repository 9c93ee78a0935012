-- Open-loop load generator, run by the LuaJIT inside wrk, whose own loop is closed. Requests fall due at equal
-- intervals, even if earlier ones are unanswered. Each is sent over an idle connection; its latency counts from its
-- due time, also if it had to wait for a connection. The generator never sleeps, so that the server need not wake it.
-- At the end it prints a line of JSON.
--
-- It needs sockets.lua and http-client.lua before it, and: port, rate (requests a second), connections, warmS, forS,
-- requests (a table).
local ROOM, TURN, LONGEST_US, GRACE_US = 16384, 64, 1000000, 2000000

local fds = connectAll(connections)
-- By connection: due time of its request (microseconds), and bytes of its answer received so far.
local due = ffi.new("double[?]", connections)
local got = ffi.new("int32_t[?]", connections)
local buffers = ffi.new("char[?]", connections * ROOM)
local idle = ffi.new("int32_t[?]", connections)
for i = 0, connections - 1 do idle[i] = i end
local idles = connections

-- Counts by microsecond, thus exact; the last element also counts all longer times.
local latencies = ffi.new("uint32_t[?]", LONGEST_US + 1)
local lags = ffi.new("uint32_t[?]", LONGEST_US + 1)
local function record(into, us)
  local at = math.floor(us)
  if at < 0 then at = 0 elseif at > LONGEST_US then at = LONGEST_US end
  into[at] = into[at] + 1
end

local function percentile(from, share)
  local count, sum = 0, 0
  for us = 0, LONGEST_US do count = count + from[us] end
  for us = 0, LONGEST_US do
    sum = sum + from[us]
    if count > 0 and sum >= count * share then return us end
  end
  return -1
end

local apart = 1e6 / rate
local startUs = now() + 1000
local countFrom, sendUntil = startUs + warmS * 1e6, startUs + (warmS + forS) * 1e6
local planned, sent, answered, counted, late = 0, 0, 0, 0, 0
local count = #requests

local function send(which, dueUs)
  local text = requests[planned % count + 1]
  if C.send(fds[which], text, #text, MSG_DONTWAIT + MSG_NOSIGNAL) ~= #text then fail("a request was not taken whole") end
  due[which], got[which] = dueUs, 0
  planned, sent = planned + 1, sent + 1
end

local waited = false
local function sendDue()
  local nowUs = now()
  local dueUs = startUs + planned * apart
  while dueUs <= nowUs and dueUs < sendUntil do
    if idles == 0 then
      waited = true
      return
    end
    idles = idles - 1
    -- A request that had to wait for a connection counts as late; for all others the delay is the generator's own.
    if dueUs >= countFrom then
      if waited then late = late + 1 else record(lags, nowUs - dueUs) end
    end
    send(idle[idles], dueUs)
    nowUs, dueUs = now(), startUs + planned * apart
  end
  waited = false
end

local function receive(which)
  local room = buffers + which * ROOM
  local have = receiveMore(fds[which], room, got[which], ROOM)
  if have == nil then return end
  got[which] = have
  if not isWhole(room, have) then return end
  if not isRight(room) then failOf(room, have) end
  answered = answered + 1
  if due[which] >= countFrom then
    counted = counted + 1
    record(latencies, now() - due[which])
  end
  idle[idles] = which
  idles = idles + 1
end

local events = ffi.new("epoll_event[?]", TURN)
local giveUp = sendUntil + GRACE_US
while true do
  sendDue()
  local ready = C.epoll_wait(epoll, events, TURN, 0)
  for i = 0, ready - 1 do
    receive(events[i].which)
    sendDue()
  end
  local nowUs = now()
  if nowUs >= giveUp or (nowUs >= sendUntil and idles == connections and startUs + planned * apart >= sendUntil) then break end
end
local missing = math.ceil((sendUntil - startUs) / apart) - answered
io.write(string.format(
  '\n{"answered":%d,"wrong":%d,"perS":%.1f,"p50Us":%d,"p99Us":%d,"p999Us":%d,"lagP99Us":%d,"waited":%d}\n',
  counted, math.max(0, missing), counted / forS, percentile(latencies, 0.5), percentile(latencies, 0.99),
  percentile(latencies, 0.999), percentile(lags, 0.99), late))
io.stdout:flush()
os.exit(0)
