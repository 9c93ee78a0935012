-- Open loop, run by the LuaJIT inside wrk: wrk's own loop is closed. Requests fall due at even distances, whatever becomes
-- of those before; each goes over a connection of its own that is idle, and its latency counts from when it was due, also
-- where it had to wait for a connection. At the end a line of JSON.
--
-- Before this stand: port, rate (a second), connections, warmS, forS, requests (a table), and wire.lua.
local LONGEST_US, TURN = 1000000, 64
-- By connection: when its request was due.
local due = ffi.new("double[?]", connections)
local idle = ffi.new("int32_t[?]", connections)
local idles = connections
-- One place to hear of all.
local epoll = C.epoll_create1(0)
local events = ffi.new("epoll_event[?]", TURN)
for i = 0, connections - 1 do
  local event = ffi.new("epoll_event")
  event.events, event.which = EPOLLIN, i
  if C.epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], event) ~= 0 then fail("cannot watch a connection") end
  idle[i] = i
end

-- Microseconds, one place each: exact.
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
  ask(which, requests[planned % count + 1])
  due[which] = dueUs
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
    -- Late by our own fault, unless it had to wait for a connection.
    if dueUs >= countFrom then
      if waited then late = late + 1 else record(lags, nowUs - dueUs) end
    end
    send(idle[idles], dueUs)
    nowUs, dueUs = now(), startUs + planned * apart
  end
  waited = false
end

local function receive(which)
  if not isAnswered(which) then return end
  answered = answered + 1
  if due[which] >= countFrom then
    counted = counted + 1
    record(latencies, now() - due[which])
  end
  idle[idles] = which
  idles = idles + 1
end

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
