-- Open-loop load generator for several teams, run by the LuaJIT inside wrk, whose own loop is closed. The requests of
-- each team fall due at equal intervals, even if earlier ones are unanswered. Each is sent over an idle connection,
-- or waits for one; its latency counts from its due time. A team without a rate sends a request whenever a connection
-- is idle.
-- At the end of the grace period a request without an answer counts as a timeout; a request that was not sent is not
-- counted.
-- The generator sleeps between events if all rates together are at most 1,000 requests a second. With a team without
-- a rate it sleeps only while no connection is idle. Otherwise it never sleeps, so that the server need not wake it.
-- At the end it prints a line of JSON: see flood.ts.
--
-- It needs bench/sinks/sockets.lua and bench/api/http-client.lua before it, and: port, connections, forS, onsetS, graceS, teams (a list of { name,
-- key, perS }, with perS 0 for no rate), and the values that `requestOf` makes addresses from.
local ROOM, TURN, STEP_US, STEPS = 8192, 64, 100, 600000

local fds = connectAll(connections)
-- By connection: number of the team whose request it carries (0: idle), due time of that request, and bytes of its
-- answer received so far.
local whose = ffi.new("int32_t[?]", connections)
local due = ffi.new("double[?]", connections)
local got = ffi.new("int32_t[?]", connections)
local buffers = ffi.new("char[?]", connections * ROOM)
local idle = ffi.new("int32_t[?]", connections)
local idles = 0

local function rest(which)
  whose[which], idle[idles] = 0, which
  idles = idles + 1
end
for which = 0, connections - 1 do rest(which) end

-- Counts of latencies, in steps of STEP_US; the last step also counts all longer ones.
local function histogram() return { steps = ffi.new("uint32_t[?]", STEPS + 1), count = 0 } end
local function record(into, us)
  local at = math.max(0, math.min(STEPS, math.floor(us / STEP_US)))
  into.steps[at] = into.steps[at] + 1
  into.count = into.count + 1
end
-- In milliseconds, rounded up; 0 if nothing was recorded.
local function percentile(from, share)
  local least, sum = math.floor(from.count * share), 0
  for at = 0, STEPS do
    sum = sum + from.steps[at]
    if sum > least then return math.ceil((at + 1) * STEP_US / 1000) end
  end
  return 0
end
local function summaryOf(from)
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

-- Request i of a team, whose addresses come in rounds of `rows` rows, as traffic/addresses.ts makes them. A form is a
-- list of the text before the name, the text behind it, and how many rows back the row is whose name it uses. The
-- text "@" stands for the domain of that row, in capitals if it is an earlier row.
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
  fds[which] = connectOne(which)
end
local function find(start, length, text)
  local at = C.memmem(start, length, text, #text)
  if at == nil then return nil end
  return ffi.cast("const char *", at) + #text
end

local function howOf(start, length)
  local status, body = ffi.string(start + 9, 3), find(start, length, "\r\n\r\n")
  local bytes = start + length - body
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

-- Records how late the loop noticed each due request, whether or not a connection was idle.
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
    -- The server also closes connections that have been idle for long.
    if whose[which] ~= 0 then
      answered(which, "cut", false)
      rest(which)
    end
    return
  end
  have = have + more
  got[which] = have
  if not isWhole(room, have) then return end
  if whose[which] == 0 then fail("an answer without a request") end
  answered(which, howOf(room, have))
  rest(which)
end

-- At a low rate, or with a team without a rate, the generator may sleep, so that its core is free for the servers.
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

local function teamSummaryOf(of)
  local counts = {}
  for how, count in pairs(of.counts) do counts[#counts + 1] = string.format('"%s":%d', how, count) end
  local form = '{"counts":{%s},"accepted":%s,"refused":%s,"sustained":%s}'
  return string.format(form, table.concat(counts, ","), summaryOf(of.accepted), summaryOf(of.refused), summaryOf(of.sustained))
end
local byName = {}
for at, team in ipairs(teams) do byName[at] = string.format('"%s":%s', team.name, teamSummaryOf(team)) end
io.write(string.format('\n{"teams":{%s},"all":%s,"onset":%s,"sustained":%s,"lateP99Ms":%d,"tookS":%.3f}\n',
  table.concat(byName, ","), teamSummaryOf(all), summaryOf(onset), summaryOf(sustained), percentile(lags, 0.99), (now() - startUs) / 1e6))
io.stdout:flush()
os.exit(0)
