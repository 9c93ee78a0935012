-- Sockets, epoll and the clock, for scripts that the LuaJIT inside wrk runs. It is put before such a script, and
-- needs `port` (on loopback).
local ffi = require("ffi")
-- The kernel packs this struct on x64 only.
ffi.cdef(ffi.arch == "x64"
  and "typedef struct __attribute__((packed)) { uint32_t events; uint32_t which; uint32_t rest; } epoll_event;"
  or "typedef struct { uint32_t events; uint32_t gap; uint32_t which; uint32_t rest; } epoll_event;")
ffi.cdef [[
typedef struct { uint16_t family; uint16_t port; uint32_t address; uint8_t zero[8]; } address_in;
typedef struct { int64_t s; int64_t ns; } time_spec;
int socket(int domain, int type, int protocol);
int connect(int fd, const address_in *to, uint32_t length);
int close(int fd);
int setsockopt(int fd, int level, int name, const int *value, uint32_t length);
long send(int fd, const char *from, size_t length, int flags);
long recv(int fd, void *into, size_t length, int flags);
int epoll_create1(int flags);
int epoll_ctl(int epoll, int what, int fd, epoll_event *event);
int epoll_wait(int epoll, epoll_event *events, int max, int timeout);
int clock_gettime(int clock, time_spec *time);
void *memmem(const void *where, size_t length, const void *what, size_t whatLength);
]]
local C = ffi.C
local AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_NODELAY = 2, 1, 6, 1
local EPOLL_CTL_ADD, EPOLLIN, MSG_DONTWAIT, MSG_NOSIGNAL = 1, 1, 0x40, 0x4000
local EAGAIN, EINTR, CLOCK_MONOTONIC = 11, 4, 1

local function fail(what)
  io.stderr:write("the generator: ", what, "\n")
  os.exit(1)
end

local time = ffi.new("time_spec")
local function now()
  C.clock_gettime(CLOCK_MONOTONIC, time)
  return tonumber(time.s) * 1e6 + tonumber(time.ns) / 1e3
end

local epoll = C.epoll_create1(0)
local one = ffi.new("int[1]", 1)
local to = ffi.new("address_in")
to.family = AF_INET
to.port = bit.bor(bit.lshift(bit.band(port, 255), 8), bit.rshift(port, 8))
to.address = 0x0100007f

-- Connects and registers with epoll, for input; `which` is the number that its events carry. Returns the descriptor.
local function connectOne(which)
  local fd = C.socket(AF_INET, SOCK_STREAM, 0)
  if fd < 0 or C.connect(fd, to, ffi.sizeof(to)) ~= 0 then fail("cannot connect: errno " .. ffi.errno()) end
  C.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, one, 4)
  local event = ffi.new("epoll_event")
  event.events, event.which = EPOLLIN, which
  if C.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event) ~= 0 then fail("cannot watch a connection") end
  return fd
end
