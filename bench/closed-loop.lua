-- Closed loop, run by the LuaJIT inside wrk: each connection asks again as soon as it is answered. wrk's own loop sleeps, see
-- wire.lua. At the end, when the last answer has come, a line of JSON.
--
-- Before this stand: port, connections, forS, nextRequest (the text of each), and wire.lua.
local startUs = now()
local sendUntil = startUs + forS * 1e6
local giveUp = sendUntil + GRACE_US
local answered, open = 0, connections
local asked = ffi.new("bool[?]", connections)
for i = 0, connections - 1 do
  ask(i, nextRequest())
  asked[i] = true
end

-- Round and round, without being told which have an answer: that costs the server a call for each and the generator one,
-- which has to ask as quickly as uWebSockets.js answers. Where there is no answer yet it has nothing else to do.
local nowUs = startUs
while open > 0 do
  nowUs = now()
  for i = 0, connections - 1 do
    if asked[i] and isAnswered(i) then
      answered = answered + 1
      if nowUs < sendUntil then
        ask(i, nextRequest())
      else
        asked[i] = false
        open = open - 1
      end
    end
  end
  if nowUs >= giveUp then fail(open .. " requests got no answer") end
end
io.write(string.format('\n{"answered":%d,"wallMs":%.3f}\n', answered, (nowUs - startUs) / 1000))
io.stdout:flush()
os.exit(0)
