/**
 * Every behaviour of the mail world: an address that shows it, and the verdict that the service should give (the
 * verdict table of the API). This list is the world's documentation: a test checks that it has every mailbox, host and
 * domain, and the demo prints it.
 */
export interface Expectation {
  address: string;
  /** Expected for a single check with probing (Pro and above), an empty cache, and loopback MX addresses allowed. */
  expected: { verdict: "valid" | "invalid" | "risky" | "unknown"; reason: string };
  why: string;
  /**
   * `ipv6`: the machine must have ::1. `private_addresses_refused`: shown only when PROBE_PRIVATE_ADDRESSES is false;
   * then every address of the world gets this result.
   */
  needs?: "ipv6" | "private_addresses_refused";
  /**
   * The server holds the client until the client's timeout. Where the request's deadline comes first, the answer is
   * `deadline`, and `expected` is what the cache then has.
   */
  holds?: true;
}

type Rest = Pick<Expectation, "needs" | "holds">;

const row =
  (verdict: Expectation["expected"]["verdict"], reason: string) =>
  (address: string, why: string, rest: Rest = {}): Expectation => ({
    address,
    expected: { verdict, reason },
    why,
    ...rest,
  });

const valid = row("valid", "accepted_mailbox");
const notFound = row("invalid", "mailbox_not_found");
const disabled = row("invalid", "mailbox_disabled");
const full = row("risky", "mailbox_full");
const catchAll = row("risky", "catch_all");
const unconfirmed = row("risky", "catch_all_unconfirmed");
const role = row("risky", "role_address");
const greylisted = row("unknown", "greylisted");
const rateLimited = row("unknown", "rate_limited_by_server");
const broken = row("unknown", "smtp_protocol_error");
const policy = row("unknown", "refused_by_policy");
const blocked = row("unknown", "sender_blocked");
const timeout = row("unknown", "timeout");
const noConnect = row("unknown", "no_connect");
const unresolvable = row("invalid", "mx_unresolvable");
const dnsError = row("unknown", "dns_error");
const HOLDS: Rest = { holds: true };

const MAILBOX_ROWS: Expectation[] = [
  valid("exists@plain.test", "250 for it, 550 5.1.1 for a random address; exists17, exists-a exist too"),
  role("postmaster@plain.test", "a role address that exists"),
  role("info@plain.test", "a role address that exists"),
  notFound("missing@plain.test", "550 5.1.1"),
  notFound("nobody-of-that-name@plain.test", "550 5.1.1 for any local part the world does not know"),
  disabled("disabled@plain.test", "550 5.2.1"),
  full("full@plain.test", "452 4.2.2"),
  full("full-hard@plain.test", "552 5.2.2"),
  greylisted("greylisted@plain.test", "450 4.2.0 until the world relents"),
  greylisted("greylisted-once@plain.test", "450 4.2.0 to the first attempt, 250 to the next"),
  greylisted("greylisted-briefly@plain.test", "the same, and says that it is a matter of 5 seconds"),
  unconfirmed("unverified@plain.test", "252: accepted, but not verified"),
  broken("later-try-again@later.test", "421 4.7.0 to the first attempt, 250 to the next"),
  broken("later-callout@later.test", "the same with 450 4.1.1, while the address is being verified"),
  broken("later-local-problem@later.test", "the same with 451 and no enhanced code"),
  broken("later-system@later.test", "the same with 451 4.3.0"),
  broken("later-not-accepting@later.test", "the same with 451 4.3.2"),
  broken("later-no-answer@later.test", "the same with 451 4.4.1"),
  broken("later-resources@later.test", "the same with 450 4.7.0"),
  broken("later-unavailable@later.test", "the same with 450 and no enhanced code"),
  broken("later-closing@closing.test", "the same with 421 and no enhanced code"),
  full("later-full@later.test", "the same with 452 4.2.2 and try later"),
  full("later-full-wordless@later.test", "the same with 452 4.2.2 alone"),
  greylisted("later-for-good@later.test", "the same with 554 5.7.1 that says greylisted"),
  broken("later-permanent@later.test", "the same with 550 that says try again later"),
  rateLimited("ratelimited@limited.test", "451 4.7.1 too many"),
  rateLimited("ratelimited-421@limited.test", "421 4.7.0 and the connection closes"),
  broken("tempfail@plain.test", "451 4.3.0, an other 4xx"),
  broken("storage@plain.test", "452 4.3.1: the server's disk, not the mailbox"),
  policy("policy@plain.test", "550 5.7.1 about content"),
  blocked("blocked-ip@blocked.test", "550 5.7.1 at RCPT that names our IP address"),
  blocked("blocked-helo@blocked.test", "550 5.7.1 at RCPT that names our HELO name"),
  blocked("blocked-dnsbl@blocked.test", "554 5.7.1 at RCPT that names a DNSBL"),
  timeout("tarpit@rude.test", "silence at RCPT", HOLDS),
  broken("drop@rude.test", "closes instead of an answer to RCPT"),
  broken("reset@rude.test", "TCP reset instead of an answer to RCPT"),
  broken("flood@rude.test", "a reply of 10 MB without a line end"),
  broken("endless@rude.test", "a multi-line reply that never ends"),
  broken("garbage@rude.test", "bytes that are no reply"),
  broken("oddcode@rude.test", "a code outside 2xx to 5xx"),
  broken("mixedcodes@rude.test", "a multi-line reply whose lines have different codes"),
  broken("intermediate@rude.test", "354 to RCPT"),
  broken("contradicted@rude.test", "two replies to one RCPT, 250 and 550"),
  broken("refused-twice@rude.test", "two replies to one RCPT, both 550 5.1.1"),
  timeout("omitted@rude.test", "no reply to RCPT, but to all that comes after", HOLDS),
  notFound("multiline@plain.test", "550 5.1.1 on three lines"),
  policy("jürgen@plain.test", "needs SMTPUTF8, which the server does not offer"),
];

const HOST_ROWS: Expectation[] = [
  catchAll("exists@catchall.test", "accepts everybody"),
  unconfirmed("exists@catchall-tempfail.test", "451 for a random address"),
  unconfirmed("exists@catchall-drop.test", "closes when asked for a random address"),
  greylisted("exists@greylist.test", "450 4.2.0 for everybody until the world relents"),
  blocked("exists@dnsbl-connect.test", "554 greeting that names our IP address and a DNSBL"),
  blocked("exists@dnsbl-mail.test", "550 5.7.1 at MAIL that names our IP address and a DNSBL"),
  blocked(
    "missing@dnsbl-rcpt.test",
    "554 5.7.1 at RCPT: our address is listed, so nothing is known of the mailbox",
  ),
  blocked("exists@helo-blocked.test", "550 5.7.1 at EHLO and HELO that names our HELO name"),
  timeout("exists@tarpit-connect.test", "accepts the connection and never greets", HOLDS),
  timeout("exists@tarpit-ehlo.test", "silence at EHLO", HOLDS),
  timeout("exists@tarpit-mail.test", "silence at MAIL", HOLDS),
  timeout("exists@slow-banner.test", "one byte a second", HOLDS),
  broken("exists@drop-connect.test", "closes without a greeting"),
  broken("exists@reset-ehlo.test", "TCP reset instead of an answer to EHLO"),
  broken("exists@drop-banner.test", "closes after the greeting"),
  broken("exists@busy-connect.test", "421 greeting"),
  rateLimited("exists@too-many.test", "421 greeting: too many connections"),
  broken("exists@later-ehlo.test", "421 to EHLO"),
  broken("exists@drop-mail.test", "closes instead of an answer to MAIL"),
  broken("exists@drop-rcpt.test", "closes instead of an answer to RCPT"),
  valid("exists@busy.test", "421 at the fourth transaction of a session"),
  rateLimited("exists@rate-mail.test", "451 4.7.1 at MAIL"),
  valid("exists@goodbye.test", "421 to a recipient behind which other transactions are pipelined"),
  valid("exists@hangup.test", "closes instead of an answer to such a recipient"),
  valid(
    "exists@patience.test",
    "554 that names a DNSBL to all who come after 50 recipients, over all sessions",
  ),
  valid("exists@lockstep.test", "offers no PIPELINING"),
  notFound("missing@lockstep.test", "offers no PIPELINING"),
  valid("exists@helo-only.test", "502 to EHLO, 250 to HELO"),
  valid("exists@tls.test", "offers STARTTLS"),
  valid("exists@tls-required.test", "530 5.7.0 to MAIL in clear"),
  valid("exists@tls-broken.test", "handshake fails, mail in clear is welcome"),
  policy("exists@tls-broken-required.test", "handshake fails, and 530 5.7.0 in clear"),
  valid("exists@tls-refused.test", "454 4.7.0 to STARTTLS, mail in clear is welcome"),
  valid("exists@tls-drop.test", "closes on STARTTLS, mail in clear is welcome"),
  valid("exists@tls-silent.test", "says 220 to STARTTLS and nothing more; in clear it is well", HOLDS),
  notFound("missing@tls-injection.test", "replies in clear behind the 220 of STARTTLS: they must not count"),
  valid("exists@one-recipient.test", "452 4.5.3 to a second recipient of a transaction"),
  valid("exists@error-limit.test", "421 after 20 refused recipients in a session"),
  valid("exists@error-tarpit.test", "silence after 10 refused recipients in a session"),
  valid("exists@connection-limit.test", "421 greeting to a third connection at once"),
  valid("exists@multiline.test", "every reply on several lines"),
  notFound("missing@no-enhanced.test", "550 Unrouteable address, without an enhanced code"),
  full("full@no-enhanced.test", "552 mailbox is full, without an enhanced code"),
  disabled("disabled@no-enhanced.test", "550 account has been disabled, without an enhanced code"),
  notFound("missing@german.test", "550 5.1.1 in German, UTF-8"),
  notFound("missing@french-latin1.test", "550 5.1.1 in French, Latin-1"),
  broken("exists@flood-banner.test", "a greeting of 10 MB without a line end"),
  broken("exists@endless-ehlo.test", "an EHLO reply that never ends"),
  broken("exists@garbage-banner.test", "an SSH greeting"),
  broken("exists@double-banner.test", "a reply that nobody asked for, behind the greeting"),
  broken("missing@out-of-step.test", "a 250 that nobody asked for, before the 550 of RCPT"),
  valid("jürgen@utf8.test", "offers SMTPUTF8"),
  valid("exists@alpha.test", "a customer of a provider on its own MX host"),
  valid("exists@beta.test", "the same provider; the other host calls this domain's users unknown"),
];

const DNS_ROWS: Expectation[] = [
  valid("exists@preferences.test", "three MX records out of order; the best is not a catch-all"),
  valid("exists@failover.test", "the first MX refuses connections"),
  valid("exists@failover-address.test", "the first of two addresses of the MX refuses connections"),
  valid("exists@failover-busy.test", "the first MX greets with 421"),
  valid("exists@failover-too-many.test", "the first MX greets with 421 too many connections"),
  valid("exists@failover-ehlo.test", "the first MX answers EHLO with 421"),
  valid("exists@failover-mail.test", "the first MX answers MAIL with 451"),
  valid("exists@failover-mail-drop.test", "the first MX closes at MAIL"),
  valid("exists@failover-rcpt.test", "the first MX answers RCPT with 450"),
  valid("exists@failover-rcpt-drop.test", "the first MX closes at RCPT"),
  valid("exists@failover-fifth.test", "four of five MX are dead, in different ways"),
  valid("exists@failover-drop.test", "the first MX closes without a greeting"),
  valid("exists@failover-silent.test", "the first MX never greets", HOLDS),
  valid("exists@failover-noaddress.test", "the first MX has no address"),
  noConnect("exists@dead.test", "every MX refuses connections"),
  valid("exists@implicit.test", "no MX, an A record"),
  valid("exists@implicit-aaaa.test", "no MX, an AAAA record", { needs: "ipv6" }),
  row("invalid", "null_mx")("exists@nullmx.test", "MX 0 . (RFC 7505)"),
  row("invalid", "no_mx")("exists@nodata.test", "the name exists, with neither MX nor address"),
  row("invalid", "no_mx")("exists@short-negative.test", "the same, to be kept 5 s"),
  row("invalid", "domain_not_found")("exists@nowhere.test", "NXDOMAIN"),
  row("invalid", "domain_not_found")("exists@cname-nowhere.test", "a CNAME to a name that is not"),
  dnsError("exists@servfail.test", "SERVFAIL for MX (the A record must not be taken for it)"),
  dnsError("exists@refused.test", "REFUSED for MX"),
  dnsError("exists@notimp.test", "NOTIMP for MX"),
  dnsError("exists@silent.test", "no answer for MX", HOLDS),
  dnsError("exists@garbage-dns.test", "bytes that are no DNS message", HOLDS),
  dnsError(
    "exists@unproven.test",
    "NXDOMAIN without the SOA that would prove it, and no provider is known either",
  ),
  dnsError("exists@proven-by-another.test", "the same with the SOA of a zone that does not hold the name"),
  dnsError("exists@implicit-servfail.test", "no MX, SERVFAIL for A and AAAA"),
  valid("exists@truncated.test", "truncated over UDP, whole over TCP"),
  dnsError("exists@truncated-for-good.test", "truncated over UDP, TCP hangs up"),
  valid("exists@spoofed.test", "two forged answers before the true one"),
  dnsError("exists@forged.test", "only forged answers", HOLDS),
  valid("exists@cname.test", "two CNAMEs before the MX"),
  dnsError("exists@cname-loop.test", "CNAMEs in a circle"),
  valid("exists@mx-cname.test", "the MX host is a CNAME"),
  valid("exists@mx-self.test", "the MX is the domain itself, which has an address"),
  unresolvable("exists@mx-self-noaddress.test", "the MX is the domain itself, without an address"),
  unresolvable("exists@mx-noaddress.test", "the MX host has no address"),
  unresolvable("exists@mx-nxdomain.test", "the MX host is not in the DNS"),
  unresolvable("exists@mx-cname-loop.test", "the MX host is a CNAME in a circle"),
  unresolvable("exists@mx-localhost.test", "the MX is the sender's own machine"),
  unresolvable("exists@mx-zero-literal.test", "the MX is 0.0.0.0, written as a name"),
  unresolvable("exists@mx-all-absent.test", "four MX hosts, none of which can exist, each in its own way"),
  unresolvable("exists@implicit-zero.test", "no MX, and its own address is 0.0.0.0"),
  noConnect("exists@mx-half-absent.test", "one MX host is not in the DNS, the other's name server fails"),
  noConnect("exists@mx-unproven.test", "NXDOMAIN for the MX host, without the SOA that would prove it"),
  valid("exists@mx-literal.test", "the MX host is an IP address written as a name"),
  valid("exists@implicit-nxdomain.test", "NXDOMAIN for MX, with its SOA, and an A record all the same"),
  role("info@servfail.test", "a role address, whatever the name servers say"),
  noConnect("exists@mx-private.test", "the MX is at 10.0.0.1", { needs: "private_addresses_refused" }),
  unresolvable("exists@mx-zero.test", "the MX is at 0.0.0.0"),
  noConnect("exists@mx-loopback.test", "the MX is at 127.0.0.1", { needs: "private_addresses_refused" }),
  noConnect("exists@mx-hundred.test", "a hundred MX hosts, all dead"),
  valid("exists@huge.test", "1001 MX records; the first is well"),
  valid("exists@mixed-case.test", "the MX host in mixed case"),
  valid("exists@short-ttl.test", "an MX with a TTL of 5 s"),
  valid("exists@long-ttl.test", "an MX with a TTL of a week"),
  valid("exists@zero-ttl.test", "an MX with a TTL of 0"),
];

export const EXPECTATIONS: Expectation[] = [...MAILBOX_ROWS, ...HOST_ROWS, ...DNS_ROWS];
