-- Connections and answers, shared by the load generators that LuaJIT runs. It is put before them, behind sockets.lua.

-- Opens `connections` connections and registers them with epoll. Returns their descriptors, by number; events carry
-- that number as `which`.
local function connectAll(connections)
  local fds = ffi.new("int[?]", connections)
  for i = 0, connections - 1 do fds[i] = connectOne(i) end
  return fds
end

local LENGTH, SHORTEST, TWO, ZERO = "\r\nContent-Length: ", 15, 50, 48
-- Whether the status of the answer at `start` is 200. At least 12 bytes must be there.
local function isRight(start)
  return start[9] == TWO and start[10] == ZERO and start[11] == ZERO
end

-- Bytes of the answer at `start`, with its head; 0 while its head is incomplete; -1 if it is no valid answer.
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

-- Receives more bytes of an answer, of which `have` bytes are in `into` already. Returns the new number of bytes, or
-- nil if no more had arrived.
local function receiveMore(fd, into, have, room)
  local more = tonumber(C.recv(fd, into + have, room - have, MSG_DONTWAIT))
  if more > 0 then return have + more end
  local errno = ffi.errno()
  if more < 0 and (errno == EAGAIN or errno == EINTR) then return nil end
  fail("the server hung up")
end

local function failOf(into, have) fail("a wrong answer: " .. ffi.string(into, math.min(have, 300))) end

-- Whether the answer in `into` is complete. Fails if it is invalid, or if more bytes follow it.
local function isWhole(into, have)
  local whole = bytesOf(into, have)
  if whole < 0 or (whole > 0 and have > whole) then failOf(into, have) end
  return whole > 0 and have == whole
end
