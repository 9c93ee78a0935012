import assert from "node:assert/strict";
import { test } from "node:test";
import { readEximLog } from "../../../../scripts/mta/exim.ts";
import { listener } from "../../../../scripts/mta/mail-server.ts";
import { readOpensmtpdLog } from "../../../../scripts/mta/opensmtpd.ts";
import { readPostfixLog } from "../../../../scripts/mta/postfix.ts";

test("Postfix: sessions of one listener, by what is said when they end; refusals of its limits", () => {
  const log = `Nov 22 03:04:19 postfix/mx.postfix-errors.test/smtpd[209]: connect from unknown[127.0.0.1]
Nov 22 03:04:20 postfix/mx.postfix-errors.test/smtpd[209]: disconnect from unknown[127.0.0.1] ehlo=2 starttls=1 mail=14 rcpt=7/14 rset=14 quit=1 commands=39/46
Nov 22 03:04:20 postfix/mx.postfix-errors.test/smtpd[209]: disconnect from unknown[127.0.0.1] ehlo=2 starttls=1 mail=8 rcpt=0/8 rset=8 quit=1 commands=20/28
Nov 22 03:04:20 postfix/mx.postfix-errors.test/smtpd[210]: disconnect from unknown[127.0.0.1] ehlo=2 starttls=1 mail=1 rcpt=1 rset=1 quit=1 commands=7
Nov 22 03:04:21 postfix/mx.postfix-errors.test/smtpd[210]: too many errors after RCPT from unknown[127.0.0.1]
Nov 22 03:04:27 postfix/mx.postfix-connections.test/smtpd[224]: warning: Connection concurrency limit exceeded: 4 from unknown[127.0.0.1] for service 127.0.12.16:23152
Nov 22 03:04:27 postfix/mx.postfix-connections.test/smtpd[224]: disconnect from unknown[127.0.0.1] ehlo=1 mail=20 rcpt=0/20 commands=21/41
`;
  const errors = listener("127.0.12", 15, "postfix-errors");
  assert.deepEqual(readPostfixLog(log, errors), { sessions: 3, mostRejections: 8, wornOut: 1, limited: 1 });
  const connections = listener("127.0.12", 16, "postfix-connections");
  assert.deepEqual(readPostfixLog(log, connections), {
    sessions: 1,
    mostRejections: 20,
    wornOut: 0,
    limited: 1,
  });
});

test("Exim: sessions of one address, by the process that served them; refusals of its limits", () => {
  const us = "[127.0.0.1] I=[127.0.13.15]:23152";
  const log = `exim[30]: [30] SMTP connection from ${us} (TCP/IP connection count = 1)
exim[88]: [88] H=(probe.rcpt.test) ${us} X=TLS1.3:ECDHE_X25519__RSA_PSS_RSAE_SHA256__AES_256_GCM:256 CV=no F=<probe@rcpt.test> rejected RCPT <nobody1@exim-errors.test>: Unrouteable address
exim[88]: [88] H=(probe.rcpt.test) ${us} X=TLS1.3:ECDHE_X25519__RSA_PSS_RSAE_SHA256__AES_256_GCM:256 CV=no F=<probe@rcpt.test> rejected RCPT <nobody4@exim-errors.test>: Unrouteable address
exim[89]: [89] H=(probe.rcpt.test) ${us} F=<probe@rcpt.test> rejected RCPT <nobody5@exim-errors.test>: Unrouteable address
exim[89]: [89] H=(probe.rcpt.test) ${us} F=<probe@rcpt.test> rejected RCPT <keeper1@exim-errors.test>: Too many failed recipients - count = 10
exim[88]: [88] SMTP connection from (probe.rcpt.test) ${us} closed by QUIT
exim[89]: [89] SMTP connection from (probe.rcpt.test) ${us} closed by QUIT
exim[30]: [30] Connection from [127.0.0.1] I=[127.0.13.16]:23152 refused: too many connections from that IP address
`;
  const errors = listener("127.0.13", 15, "exim-errors");
  assert.deepEqual(readEximLog(log, errors), { sessions: 2, mostRejections: 2, wornOut: 1, limited: 1 });
  const connections = listener("127.0.13", 16, "exim-connections");
  assert.deepEqual(readEximLog(log, connections), { sessions: 0, mostRejections: 0, wornOut: 0, limited: 1 });
});

test("OpenSMTPD: sessions by their numbers", () => {
  const log = `0f30e2451557ea30 smtp connected address=127.0.0.1 host=<unknown>
0f30e2451557ea30 smtp failed-command command="RCPT TO:<nobody4@opensmtpd-errors.test>" result="524 5.2.4 Mailing list expansion problem: <nobody4@opensmtpd-errors.test>"
0f30e2451557ea30 smtp failed-command command="RCPT TO:<nobody16@opensmtpd-errors.test>" result="524 5.2.4 Mailing list expansion problem: <nobody16@opensmtpd-errors.test>"
0f30e2451557ea30 smtp disconnected reason=quit
0f30e24a0fa45ccb smtp connected address=127.0.0.1 host=<unknown>
0f30e24a0fa45ccb smtp disconnected reason=quit
`;
  assert.deepEqual(readOpensmtpdLog(log), { sessions: 2, mostRejections: 2, wornOut: 0, limited: 0 });
});
