-- What the generators that LuaJIT runs share: connections and answers. Stands before them; before it: sockets.lua.

-- Connects so many times, watched for what comes. Returns the descriptors, by number of the connection, which is their events' `which`.
local function connectAll(connections)
  local fds = ffi.new("int[?]", connections)
  for i = 0, connections - 1 do
    local fd = C.socket(AF_INET, SOCK_STREAM, 0)
    if fd < 0 or C.connect(fd, to, ffi.sizeof(to)) ~= 0 then fail("cannot connect") end
    C.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, one, 4)
    local event = ffi.new("epoll_event")
    event.events, event.which = EPOLLIN, i
    if C.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event) ~= 0 then fail("cannot watch a connection") end
    fds[i] = fd
  end
  return fds
end

local LENGTH, SHORTEST, TWO, ZERO = "\r\nContent-Length: ", 15, 50, 48
-- Whether the answer whose beginning stands there, known to `bytesOf`, is one of "HTTP/1.1 200".
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
