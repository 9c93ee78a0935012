-- Mail servers, run by the LuaJIT inside wrk. They use as little CPU as possible, because they share the cores with
-- the process that is measured. Each server has its own address; all have the same port. A command is recognised by
-- its first bytes, and all answers to one read are sent at once.
-- Addresses are not checked: a recipient exists if its local part begins with `u` or its domain begins with `any`.
--
-- native-sink.ts puts sockets.lua before this file, and before that: port (0), addresses, latencyMs, recipientMs. The
-- script prints its port, then answers each line of standard input with a line of JSON. It exits when standard input
-- closes, thus also when its parent ends.
ffi.cdef [[
int bind(int fd, const address_in *at, uint32_t length);
int listen(int fd, int backlog);
int accept4(int fd, address_in *from, uint32_t *length, int flags);
int getsockname(int fd, address_in *at, uint32_t *length);
int shutdown(int fd, int how);
long read(int fd, void *into, size_t length);
void *memchr(const void *where, int what, size_t length);
]]
local SOL_SOCKET, SO_REUSEADDR, NONBLOCK_CLOEXEC, SHUT_WR = 1, 2, 0x80800, 1
local EPOLL_CTL_MOD, EPOLLOUT, ECONNABORTED = 3, 4, 103
local BACKLOG, PORT_ATTEMPTS, TURN, ROOM, LINE_MAX = 1024, 10, 256, 65536, 4096

local GREETING = "220 sink.test ESMTP\r\n"
local EHLO = "250-sink.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n"
local ACCEPTED, UNKNOWN = "250 2.1.5 Ok\r\n", "550 5.1.1 User unknown\r\n"
local OK, BYE = "250 2.0.0 Ok\r\n", "221 2.0.0 Bye\r\n"
-- First letters of commands, in lower case; MAIL and RSET get the same answer. LOCAL_AT: bytes of `RCPT TO:<`, behind
-- which the local part begins.
local LF, SMALL_C, SMALL_E, SMALL_Q, SMALL_R, SMALL_U, LOCAL_AT = 10, 0x63, 0x65, 0x71, 0x72, 0x75, 9
local ANY, chars, bor = "@any", ffi.typeof("const char *"), bit.bor

local function say(line)
  io.write(line, "\n")
  io.stdout:flush()
end
local function stop(what)
  say(string.format('{"error":"%s: errno %d"}', what, ffi.errno()))
  os.exit(1)
end

local event = ffi.new("epoll_event")
local function watch(fd, what, wanted)
  event.events, event.which = wanted, fd
  if C.epoll_ctl(epoll, what, fd, event) ~= 0 then stop("cannot watch a socket") end
end

local sinks, sinkOf = {}, {}
local function openAt(address)
  local fd = C.socket(AF_INET, bor(SOCK_STREAM, NONBLOCK_CLOEXEC), 0)
  if fd < 0 then stop("cannot make a socket") end
  local a, b, c, d = string.match(address, "(%d+)%.(%d+)%.(%d+)%.(%d+)")
  to.address = a + 256 * b + 65536 * c + 16777216 * d
  to.port = bor(bit.lshift(bit.band(port, 255), 8), bit.rshift(port, 8))
  C.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, one, 4)
  -- Accepted connections inherit the option.
  C.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, one, 4)
  sinks[#sinks + 1] = {
    fd = fd, connections = 0, open = 0, maxOpen = 0, recipients = 0,
    latencyUs = latencyMs * 1000, recipientUs = recipientMs * 1000,
  }
  if C.bind(fd, to, ffi.sizeof(to)) ~= 0 or C.listen(fd, BACKLOG) ~= 0 then return false end
  local length = ffi.new("uint32_t[1]", ffi.sizeof(to))
  if C.getsockname(fd, to, length) ~= 0 then stop("cannot see the port") end
  port = bor(bit.lshift(bit.band(to.port, 255), 8), bit.rshift(to.port, 8))
  return true
end
local function openAll()
  for _, address in ipairs(addresses) do
    if not openAt(address) then return false end
  end
  return true
end
local attempts = 1
while not openAll() do
  if attempts == PORT_ATTEMPTS then stop("there is no port that is free at all addresses") end
  attempts = attempts + 1
  for _, sink in ipairs(sinks) do C.close(sink.fd) end
  sinks, port = {}, 0
end
for _, sink in ipairs(sinks) do
  sinkOf[sink.fd] = sink
  watch(sink.fd, EPOLL_CTL_ADD, EPOLLIN)
end

-- Answers that are due later: a heap ordered by due time, with the peer of each answer.
local dueUs, whose, waiting = {}, {}, 0
local function push(atUs, peer)
  waiting = waiting + 1
  local i = waiting
  while i > 1 do
    local up = bit.rshift(i, 1)
    if dueUs[up] <= atUs then break end
    dueUs[i], whose[i] = dueUs[up], whose[up]
    i = up
  end
  dueUs[i], whose[i] = atUs, peer
end
local function pop()
  local peer, atUs, last = whose[1], dueUs[waiting], whose[waiting]
  whose[waiting] = false
  waiting = waiting - 1
  if waiting == 0 then return peer end
  local i = 1
  while true do
    local down = 2 * i
    if down > waiting then break end
    if down < waiting and dueUs[down + 1] < dueUs[down] then down = down + 1 end
    if dueUs[down] >= atUs then break end
    dueUs[i], whose[i] = dueUs[down], whose[down]
    i = down
  end
  dueUs[i], whose[i] = atUs, last
  return peer
end

-- Microseconds; start of this turn of the loop. Delays count from it, because the data read in this turn had arrived
-- by then: the time spent on other peers must not lengthen a round trip.
local turnUs = 0
-- Delay of an answer. A server handles the recipients of a connection one after the other.
local function waitUs(peer, recipients)
  local sink = peer.sink
  if sink.recipientUs == 0 then return sink.latencyUs end
  peer.freeUs = math.max(peer.freeUs, turnUs) + recipients * sink.recipientUs
  return peer.freeUs - turnUs + sink.latencyUs
end

local peers = {}
local function countOut(peer)
  if peer.isOpen then peer.sink.open = peer.sink.open - 1 end
  peer.isOpen = false
end
local function hangUp(peer)
  countOut(peer)
  C.close(peer.fd)
  peers[peer.fd] = nil
  peer.fd = -1
end

-- Sends an answer or the rest of one. Bytes that the socket does not take are kept; nothing more is read from the
-- peer until they are sent.
local function send(peer, from, length)
  local sent = tonumber(C.send(peer.fd, from, length, MSG_DONTWAIT + MSG_NOSIGNAL))
  if sent < 0 then
    local errno = ffi.errno()
    if errno ~= EAGAIN and errno ~= EINTR then return hangUp(peer) end
    sent = 0
  end
  local wasWhole = peer.unsent == ""
  peer.unsent = sent == length and "" or ffi.string(ffi.cast(chars, from) + sent, length - sent)
  local isWhole = sent == length
  if isWhole ~= wasWhole then watch(peer.fd, EPOLL_CTL_MOD, isWhole and EPOLLIN or EPOLLOUT) end
  if isWhole and peer.isLast and peer.first > peer.last then
    -- Counted as closed before the shutdown, because the client may connect again at once.
    countOut(peer)
    C.shutdown(peer.fd, SHUT_WR)
  end
end
local function sendDue(peer)
  while peer.due > 0 and peer.unsent == "" and peer.fd >= 0 do
    local text = peer.texts[peer.first]
    peer.texts[peer.first] = nil
    peer.first, peer.due = peer.first + 1, peer.due - 1
    if peer.first > peer.last then peer.first, peer.last = 1, 0 end
    send(peer, text, #text)
  end
end
local function sendMore(peer)
  send(peer, peer.unsent, #peer.unsent)
  sendDue(peer)
end
-- Sends the oldest answer of the peer, even if the timer was set for a newer one: answers must keep their order.
local function fire(peer)
  if peer.fd < 0 then return end
  peer.due = peer.due + 1
  sendDue(peer)
end

-- An answer has at most 28 bytes for each byte of its command: EHLO's 56 bytes for an `e` and its LF.
local out = ffi.new("char[?]", 28 * (ROOM + LINE_MAX))
local function answer(peer, length, recipients)
  local isLate = peer.sink.latencyUs > 0 or peer.sink.recipientUs > 0
  if not isLate and peer.first > peer.last then return send(peer, out, length) end
  peer.last = peer.last + 1
  peer.texts[peer.last] = ffi.string(out, length)
  push(turnUs + waitUs(peer, recipients), peer)
end

local room = ffi.new("char[?]", LINE_MAX + ROOM)
local function exists(from, behind)
  if from >= behind then return false end
  return room[from] == SMALL_U or C.memmem(room + from, behind - from, ANY, #ANY) ~= nil
end
-- The answer to the command between `at` and its LF. @returns the answer, and the number of recipients asked about (0
-- or 1)
local function answerTo(at, behind)
  local first = bor(room[at], 0x20)
  if first == SMALL_R and bor(room[at + 1], 0x20) == SMALL_C then
    return exists(at + LOCAL_AT, behind) and ACCEPTED or UNKNOWN, 1
  end
  if first == SMALL_E then return EHLO, 0 end
  return first == SMALL_Q and BYE or OK, 0
end

local function read(peer)
  local have = #peer.rest
  if have > 0 then ffi.copy(room, peer.rest, have) end
  local more = tonumber(C.recv(peer.fd, room + have, ROOM, MSG_DONTWAIT))
  if more <= 0 then
    local errno = ffi.errno()
    if more == 0 or (errno ~= EAGAIN and errno ~= EINTR) then hangUp(peer) end
    return
  end
  -- Commands after QUIT are ignored.
  if peer.isLast then return end
  local length, at, bytes, recipients = have + more, 0, 0, 0
  while at < length do
    local found = C.memchr(room + at, LF, length - at)
    if found == nil then break end
    local behind = ffi.cast(chars, found) - room
    local text, asked = answerTo(at, behind)
    ffi.copy(out + bytes, text, #text)
    bytes, recipients, at = bytes + #text, recipients + asked, behind + 1
    if text == BYE then
      peer.isLast = true
      break
    end
  end
  -- Only the beginning of an unfinished command is kept: it is enough to recognise the command.
  peer.rest = at == length and "" or ffi.string(room + at, math.min(length - at, LINE_MAX))
  peer.sink.recipients = peer.sink.recipients + recipients
  if bytes > 0 then answer(peer, bytes, recipients) end
end

local function accept(sink)
  local fd = C.accept4(sink.fd, nil, nil, NONBLOCK_CLOEXEC)
  if fd < 0 then
    local errno = ffi.errno()
    if errno == EAGAIN or errno == EINTR or errno == ECONNABORTED then return end
    stop("cannot accept a connection")
  end
  sink.connections, sink.open = sink.connections + 1, sink.open + 1
  sink.maxOpen = math.max(sink.maxOpen, sink.open)
  local peer = {
    fd = fd, sink = sink, isOpen = true, isLast = false, rest = "", unsent = "",
    texts = {}, first = 1, last = 0, due = 0, freeUs = 0,
  }
  peers[fd] = peer
  watch(fd, EPOLL_CTL_ADD, EPOLLIN)
  ffi.copy(out, GREETING, #GREETING)
  answer(peer, #GREETING, 0)
end

local verbs = {}
function verbs.delay(from, count, latency, recipient)
  for i = from + 1, from + count do
    sinks[i].latencyUs, sinks[i].recipientUs = latency * 1000, recipient * 1000
  end
  return "{}"
end
function verbs.reset(from, count)
  for i = from + 1, from + count do
    local sink = sinks[i]
    sink.connections, sink.maxOpen, sink.recipients = 0, sink.open, 0
  end
  return "{}"
end
function verbs.accounts()
  local fields = {}
  for i, of in ipairs(sinks) do
    fields[i] = string.format("[%d,%d,%d,%d]", of.connections, of.open, of.maxOpen, of.recipients)
  end
  return '{"accounts":[' .. table.concat(fields, ",") .. "]}"
end

local asked, ASKED = "", 4096
local askedInto = ffi.new("char[?]", ASKED)
local function hear()
  local more = tonumber(C.read(0, askedInto, ASKED))
  if more == 0 then os.exit(0) end
  if more < 0 then return end
  asked = asked .. ffi.string(askedInto, more)
  for line in string.gmatch(asked, "([^\n]*)\n") do
    local verb, first, second, third, fourth = string.match(line, "^(%a+) ?([%d.]*) ?([%d.]*) ?([%d.]*) ?([%d.]*)$")
    say(verbs[verb](tonumber(first), tonumber(second), tonumber(third), tonumber(fourth)))
  end
  asked = string.match(asked, "[^\n]*$")
end
watch(0, EPOLL_CTL_ADD, EPOLLIN)
say(string.format('{"port":%d}', port))

-- epoll_wait takes whole milliseconds. Answers are sent up to half a millisecond early, so that they are not up to
-- one late.
local EARLY_US = 500
local events = ffi.new("epoll_event[?]", TURN)
local dialled = {}
while true do
  local timeoutMs = -1
  if waiting > 0 then timeoutMs = math.max(0, math.ceil((dueUs[1] - EARLY_US - now()) / 1000)) end
  local ready = C.epoll_wait(epoll, events, TURN, timeoutMs)
  local dials = 0
  turnUs = now()
  for i = 0, ready - 1 do
    local fd = events[i].which
    local peer = peers[fd]
    if peer ~= nil then
      if peer.unsent == "" then read(peer) else sendMore(peer) end
    elseif fd == 0 then
      hear()
    else
      dials = dials + 1
      dialled[dials] = sinkOf[fd]
    end
  end
  -- Accepted last: a client that connects again has closed its old connection, which has to be counted first.
  for i = 1, dials do accept(dialled[i]) end
  if waiting > 0 then
    local untilUs = now() + EARLY_US
    while waiting > 0 and dueUs[1] <= untilUs do fire(pop()) end
  end
end
