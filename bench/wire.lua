-- Connections to a server on loopback, for loops run by the LuaJIT inside wrk. They never sleep: to wake a client costs the
-- server, on a virtual machine 2 us and more, and only a server that is slower than its client. By turns on a busy machine: wrk's
-- own loop 6.0 us a request of raw uWebSockets.js and 13.6 of ours, this 5.2 and 10.1. Before this stand: port, connections.
local ffi = require("ffi")
ffi.cdef [[
typedef struct __attribute__((packed)) { uint32_t events; uint32_t which; uint32_t rest; } epoll_event;
typedef struct { uint16_t family; uint16_t port; uint32_t address; uint8_t zero[8]; } address_in;
typedef struct { int64_t s; int64_t ns; } time_spec;
int socket(int domain, int type, int protocol);
int connect(int fd, const address_in *to, uint32_t length);
int setsockopt(int fd, int level, int name, const int *value, uint32_t length);
long send(int fd, const char *from, size_t length, int flags);
long recv(int fd, void *into, size_t length, int flags);
int epoll_create1(int flags);
int epoll_ctl(int epoll, int what, int fd, epoll_event *event);
int epoll_wait(int epoll, epoll_event *events, int max, int timeout);
int clock_gettime(int clock, time_spec *time);
int memcmp(const void *one, const void *other, size_t length);
void *memmem(const void *where, size_t length, const void *what, size_t whatLength);
]]
local C = ffi.C
local AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_NODELAY = 2, 1, 6, 1
local EPOLL_CTL_ADD, EPOLLIN, MSG_DONTWAIT, MSG_NOSIGNAL = 1, 1, 0x40, 0x4000
local EAGAIN, EINTR, CLOCK_MONOTONIC = 11, 4, 1
local ROOM, GRACE_US = 16384, 2000000

local function fail(what)
  io.stderr:write(what, "\n")
  os.exit(1)
end

local time = ffi.new("time_spec")
local function now()
  C.clock_gettime(CLOCK_MONOTONIC, time)
  return tonumber(time.s) * 1e6 + tonumber(time.ns) / 1e3
end

-- Connections, none of which has been asked anything yet.
local one = ffi.new("int[1]", 1)
local to = ffi.new("address_in")
to.family = AF_INET
to.port = bit.bor(bit.lshift(bit.band(port, 255), 8), bit.rshift(port, 8))
to.address = 0x0100007f
local fds = ffi.new("int[?]", connections)
-- By connection: what has come of its answer.
local got = ffi.new("int32_t[?]", connections)
-- Nearly all answers come whole: into one place, which stays in the processor's cache. What comes in parts has its own.
local common = ffi.new("char[?]", ROOM)
local parts = ffi.new("char[?]", connections * ROOM)
for i = 0, connections - 1 do
  local fd = C.socket(AF_INET, SOCK_STREAM, 0)
  if fd < 0 or C.connect(fd, to, ffi.sizeof(to)) ~= 0 then fail("cannot connect") end
  C.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, one, 4)
  fds[i] = fd
end

local LENGTH, SHORTEST, TWO, ZERO, NINE, CR = "\r\nContent-Length: ", 15, 50, 48, 57, 13

-- Behind the header field in which stands how long the body is.
local function bodyBytes(digits)
  local bytes = 0
  while digits[0] >= ZERO and digits[0] <= NINE do
    bytes = bytes * 10 + digits[0] - ZERO
    digits = digits + 1
  end
  return bytes, digits
end

-- Where uWebSockets.js wrote that field last, as the last one: to look there is ten times quicker than to search.
local last = 0

-- Bytes of the answer whose beginning stands there; 0: not known yet; -1: it is not what was meant.
local function bytesOf(start, length)
  -- "HTTP/1.1 200"
  if length >= SHORTEST and (start[9] ~= TWO or start[10] ~= ZERO or start[11] ~= ZERO) then return -1 end
  if length >= last + 32 and C.memcmp(start + last, LENGTH, #LENGTH) == 0 then
    local body, behind = bodyBytes(start + last + #LENGTH)
    if behind[0] == CR and behind[2] == CR then return tonumber(behind - start) + 4 + body end
  end
  local head = ffi.cast("const char *", C.memmem(start, length, "\r\n\r\n", 4))
  if head == nil then return 0 end
  local field = ffi.cast("const char *", C.memmem(start, head - start, LENGTH, #LENGTH))
  if field == nil then field = ffi.cast("const char *", C.memmem(start, head - start, "\r\ncontent-length: ", #LENGTH)) end
  if length < SHORTEST or field == nil then return -1 end
  last = tonumber(field - start)
  return tonumber(head - start) + 4 + (bodyBytes(field + #LENGTH))
end

local function ask(which, text)
  if C.send(fds[which], text, #text, MSG_DONTWAIT + MSG_NOSIGNAL) ~= #text then fail("a request was not taken whole") end
  got[which] = 0
end

-- Takes what has come. True: that was the last of an answer.
local function isAnswered(which)
  local have = got[which]
  local room = have == 0 and common or parts + which * ROOM
  local more = tonumber(C.recv(fds[which], room + have, ROOM - have, MSG_DONTWAIT))
  if more <= 0 then
    local errno = ffi.errno()
    if more < 0 and (errno == EAGAIN or errno == EINTR) then return false end
    fail("the server hung up")
  end
  have = have + more
  local whole = bytesOf(room, have)
  if whole < 0 or (whole > 0 and have > whole) then fail("a wrong answer: " .. ffi.string(room, math.min(have, 300))) end
  if whole > 0 and have == whole then return true end
  got[which] = have
  if room == common then ffi.copy(parts + which * ROOM, common, have) end
  return false
end
