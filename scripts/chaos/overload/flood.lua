-- Open loop of several teams, run by the LuaJIT inside wrk: wrk's own loop is closed. Requests of each team fall due at even
-- distances, whatever becomes of those before; each goes over a connection that is idle, or waits for one, and its latency counts from
-- when it was due. What is not sent when the waiting ends is counted nowhere: then all connections are counted as timeouts. From 1,000
-- requests a second on it never sleeps, so that the server need not wake it. Of a team without a rate one falls due whenever a connection is idle, and it sleeps while
-- none is. At the end a line of JSON: see flood.ts.
--
-- Before this stand bench/sinks/sockets.lua and: port, connections, forS, onsetS, graceS, teams, a list of { name, key, perS }, perS 0 where there is no rate, and of
-- what their addresses are made, see `requestOf`.
local ROOM, TURN, STEP_US, STEPS = 8192, 64, 100, 600000

local fds = ffi.new("int[?]", connections)
-- By connection: whose request it carries (0: nobody's), when that was due, and what has come of its answer.
local whose = ffi.new("int32_t[?]", connections)
local due = ffi.new("double[?]", connections)
local got = ffi.new("int32_t[?]", connections)
local buffers = ffi.new("char[?]", connections * ROOM)
local idle = ffi.new("int32_t[?]", connections)
local idles = 0

local function open(which) fds[which] = connectOne(which) end
local function rest(which)
  whose[which], idle[idles] = 0, which
  idles = idles + 1
end
for which = 0, connections - 1 do
  open(which)
  rest(which)
end

-- Of latencies, in steps of STEP_US; what is longer is the longest.
local function histogram() return { steps = ffi.new("uint32_t[?]", STEPS + 1), count = 0 } end
local function record(into, us)
  local at = math.max(0, math.min(STEPS, math.floor(us / STEP_US)))
  into.steps[at] = into.steps[at] + 1
  into.count = into.count + 1
end
-- Rounded up to a millisecond; 0 of none.
local function percentile(from, share)
  local least, sum = math.floor(from.count * share), 0
  for at = 0, STEPS do
    sum = sum + from.steps[at]
    if sum > least then return math.ceil((at + 1) * STEP_US / 1000) end
  end
  return 0
end
local function told(from)
  return string.format('{"count":%d,"p50Ms":%d,"p99Ms":%d}', from.count, percentile(from, 0.5), percentile(from, 0.99))
end

local lags, onset, sustained = histogram(), histogram(), histogram()
local all = { accepted = histogram(), refused = histogram(), sustained = sustained, counts = {} }
local startUs = now() + 1000
local sendUntil, onsetUntil = startUs + forS * 1e6, startUs + onsetS * 1e6
for _, team in ipairs(teams) do
  team.accepted, team.refused, team.sustained, team.counts = histogram(), histogram(), histogram(), {}
  team.seen = 0
  team.sent, team.apart = 0, team.perS > 0 and 1e6 / team.perS or nil
  team.head = " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. team.key .. "\r\n\r\n"
end

-- Row i of the team's lists of `rows` rows each, as traffic/addresses.ts makes them. A form is what stands before and behind the name of
-- the row so far before it: behind it "@" for the domain of its number, in capitals where it repeats that row's.
local function requestOf(team, i)
  local row = i % rows
  local form = (row < #first and first or later)[row % #later + 1]
  local at, behind = row - form[3], form[2]
  if behind == "@" then
    behind = domainBefore .. at % domains .. domainBehind
    if form[3] > 0 then behind = string.upper(behind) end
    behind = "%40" .. behind
  end
  return "GET /v1/verify?email=" .. form[1] .. team.name .. math.floor(i / rows) .. "-" .. at .. behind .. team.head
end

local function note(counts, how) counts[how] = (counts[how] or 0) + 1 end
local function answered(which, how, isAccepted)
  local team, us = teams[whose[which]], now() - due[which]
  for _, of in ipairs({ team, all }) do
    note(of.counts, how)
    record(isAccepted and of.accepted or of.refused, us)
  end
  if not isAccepted then return end
  if due[which] < onsetUntil then return record(onset, us) end
  record(sustained, us)
  record(team.sustained, us)
end

local function again(which)
  C.close(fds[which])
  open(which)
end
local LENGTHS = { "\r\nContent-Length: ", "\r\ncontent-length: " }
local function find(start, length, text)
  local at = C.memmem(start, length, text, #text)
  if at == nil then return nil end
  return ffi.cast("const char *", at) + #text
end
-- Bytes of the answer whose beginning stands there, and of its head; nil: not known yet.
local function bytesOf(start, length)
  local body = find(start, length, "\r\n\r\n")
  if body == nil then return nil end
  local field = find(start, body - start, LENGTHS[1]) or find(start, body - start, LENGTHS[2])
  if field == nil then fail("an answer without a length") end
  local bytes = 0
  while field[0] >= 48 and field[0] <= 57 do
    bytes = bytes * 10 + field[0] - 48
    field = field + 1
  end
  return tonumber(body - start) + bytes, tonumber(body - start)
end

local function howOf(start, length, head)
  local status = ffi.string(start + 9, 3)
  local body, bytes = start + head, length - head
  if status == "200" then
    return find(body, bytes, '"reason":"deadline"') and "200 deadline" or "200", true
  end
  local code = find(body, bytes, '"code":"')
  return status .. " " .. (code and string.match(ffi.string(code, 40), "^[a-z_]*") or ""), false
end

local function nextTeam(nowUs)
  local first, firstUs = nil, sendUntil
  for at, team in ipairs(teams) do
    local dueUs = team.apart and startUs + (team.sent + 1) * team.apart or nowUs
    if dueUs < firstUs then first, firstUs = at, dueUs end
  end
  return first, firstUs
end

-- How late it was that we saw them, whether there was a connection or not.
local function noteLateness(nowUs)
  for _, team in ipairs(teams) do
    while team.apart ~= nil do
      local dueUs = startUs + (team.seen + 1) * team.apart
      if dueUs > nowUs or dueUs >= sendUntil then break end
      team.seen = team.seen + 1
      record(lags, nowUs - dueUs)
    end
  end
end

local function sendDue()
  local nowUs = now()
  noteLateness(nowUs)
  local at, dueUs = nextTeam(nowUs)
  while at ~= nil and dueUs <= nowUs and idles > 0 do
    idles = idles - 1
    local which, team = idle[idles], teams[at]
    local text = requestOf(team, team.sent)
    whose[which], due[which], got[which] = at, dueUs, 0
    team.sent = team.sent + 1
    if C.send(fds[which], text, #text, MSG_DONTWAIT + MSG_NOSIGNAL) ~= #text then
      answered(which, "cut", false)
      again(which)
      rest(which)
      return
    end
    at, dueUs = nextTeam(nowUs)
  end
end

local function receive(which)
  local room = buffers + which * ROOM
  local have = got[which]
  local more = tonumber(C.recv(fds[which], room + have, ROOM - have, MSG_DONTWAIT))
  if more <= 0 then
    local errno = ffi.errno()
    if more < 0 and (errno == EAGAIN or errno == EINTR) then return end
    again(which)
    -- Who asked nothing for long is hung up on, too.
    if whose[which] ~= 0 then
      answered(which, "cut", false)
      rest(which)
    end
    return
  end
  have = have + more
  got[which] = have
  local whole, head = bytesOf(room, have)
  if whole == nil or have < whole then return end
  if whose[which] == 0 or have > whole then fail("an answer that nobody asked for") end
  answered(which, howOf(room, whole, head))
  rest(which)
end

-- Where little falls due, or only connections are waited for, it leaves its core to the servers beside it.
local isPatient, perS = false, 0
for _, team in ipairs(teams) do isPatient, perS = isPatient or team.apart == nil, perS + team.perS end
local isSlow = not isPatient and perS <= 1000
local events = ffi.new("epoll_event[?]", TURN)
while true do
  sendDue()
  local ready = C.epoll_wait(epoll, events, TURN, (isSlow or isPatient and idles == 0) and 1 or 0)
  for i = 0, ready - 1 do
    receive(events[i].which)
    sendDue()
  end
  local nowUs = now()
  if nowUs >= sendUntil and (nowUs >= sendUntil + graceS * 1e6 or (idles == connections and nextTeam(nowUs) == nil)) then break end
end
for which = 0, connections - 1 do
  if whose[which] ~= 0 then answered(which, "timeout", false) end
end

local function teamTold(of)
  local counts = {}
  for how, count in pairs(of.counts) do counts[#counts + 1] = string.format('"%s":%d', how, count) end
  local form = '{"counts":{%s},"accepted":%s,"refused":%s,"sustained":%s}'
  return string.format(form, table.concat(counts, ","), told(of.accepted), told(of.refused), told(of.sustained))
end
local byName = {}
for at, team in ipairs(teams) do byName[at] = string.format('"%s":%s', team.name, teamTold(team)) end
io.write(string.format('\n{"teams":{%s},"all":%s,"onset":%s,"sustained":%s,"lateP99Ms":%d,"tookS":%.3f}\n',
  table.concat(byName, ","), teamTold(all), told(onset), told(sustained), percentile(lags, 0.99), (now() - startUs) / 1e6))
io.stdout:flush()
os.exit(0)
