-- What the generators that LuaJIT runs share: connections and answers. Stands before them; before it: sockets.lua.

-- Connects so many times, watched for what comes. Returns the descriptors, by number of the connection, which is their events' `which`.
local function connectAll(connections)
  local fds = ffi.new("int[?]", connections)
  for i = 0, connections - 1 do fds[i] = connectOne(i) end
  return fds
end

local LENGTH, SHORTEST, TWO, ZERO = "\r\nContent-Length: ", 15, 50, 48
-- Whether the answer whose beginning stands there, known to `byteUnitOf`, is one of "HTTP/1.1 200".
local function isRight(start)
  return start[9] == TWO and start[10] == ZERO and start[11] == ZERO
end

-- Bytes of the answer whose beginning stands there; 0: not known yet; -1: it is none.
local function bytesOf(start, length)
  local head = ffi.cast("const char *", C.memmem(start, length, "\r\n\r\n", 4))
  if head == nil then return 0 end
  if length < SHORTEST then return -1 end
  local field = ffi.cast("const char *", C.memmem(start, head - start, LENGTH, #LENGTH))
  if field == nil then field = ffi.cast("const char *", C.memmem(start, head - start, "\r\ncontent-length: ", #LENGTH)) end
  if field == nil then return -1 end
  local at, body = field + #LENGTH, 0
  while at[0] >= 48 and at[0] <= 57 do
    body = body * 10 + at[0] - 48
    at = at + 1
  end
  return tonumber(head - start) + 4 + body
end

-- Reads what came on the connection behind the `have` bytes of an answer that stand there already. Returns how many stand there now;
-- nil: nothing came.
local function receiveMore(fd, into, have, room)
  local more = tonumber(C.recv(fd, into + have, room - have, MSG_DONTWAIT))
  if more > 0 then return have + more end
  local errno = ffi.errno()
  if more < 0 and (errno == EAGAIN or errno == EINTR) then return nil end
  fail("the server hung up")
end

local function failOf(into, have) fail("a wrong answer: " .. ffi.string(into, math.min(have, 300))) end

-- Whether the answer that begins there is all there. Fails where it is none, or more than one.
local function isWhole(into, have)
  local whole = bytesOf(into, have)
  if whole < 0 or (whole > 0 and have > whole) then failOf(into, have) end
  return whole > 0 and have == whole
end
