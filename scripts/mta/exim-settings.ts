import { EXISTING, type Listener, listener } from "./mail-server.ts";
import { LIST } from "./names.ts";

const NET = "127.0.13";
/** Wrong recipients of a session after which administrators like to hang up, by an ACL of theirs. */
const WRONG_MAX = 10;

/** A domain that leads here and is not served. */
export const ELSEWHERE = "elsewhere.exim.test";

export const AT = {
  main: listener(NET, 2, "exim", ["catchall.exim.test", ELSEWHERE]),
  connect: listener(NET, 3, "exim-connect"),
  shut: listener(NET, 4, "exim-shut"),
  helo: listener(NET, 5, "exim-helo"),
  mail: listener(NET, 6, "exim-mail"),
  client: listener(NET, 7, "exim-client"),
  sender: listener(NET, 8, "exim-sender"),
  senderDomain: listener(NET, 9, "exim-senderdomain"),
  listConnect: listener(NET, 10, "exim-listconnect"),
  list: listener(NET, 11, "exim-list"),
  null: listener(NET, 12, "exim-null"),
  tls: listener(NET, 13, "exim-tls"),
  ratelimit: listener(NET, 14, "exim-ratelimit"),
  errors: listener(NET, 15, "exim-errors"),
  connections: listener(NET, 16, "exim-connections"),
  callout: listener(NET, 17, "exim-callout"),
  idle: listener(NET, 18, "exim-idle"),
} as const satisfies Record<string, Listener>;

type At = keyof typeof AT;

const here = (at: At) => `\${if eq{$received_ip_address}{${AT[at].ip}}}`;
const domains = Object.values(AT)
  .flatMap((at) => at.domains)
  .filter((domain) => domain !== ELSEWHERE);
const mailboxes = [
  "existing",
  "full",
  "prohibited",
  "greylisted",
  "почта",
  EXISTING,
  `^${EXISTING}\\\\d+\\$`,
];

/** Words in the order in which the rules of one listener come; each is for one listener. */
const connectAcl = `acl_check_connect:
  deny
    condition = ${here("connect")}
    message = sender IP address $sender_host_address is locally blacklisted here. If you think this is wrong, get in touch with postmaster
  deny
    condition = ${here("listConnect")}
    dnslists = ${LIST}
    message = $sender_host_address is listed at $dnslist_domain\\n$dnslist_text
  accept
`;

const heloAcl = `acl_check_helo:
  deny
    condition = ${here("helo")}
    condition = \${if eq{$sender_helo_name}{probe.rcpt.test}}
  accept
`;

const mailAcl = `acl_check_mail:
  deny
    condition = ${here("mail")}
    sender_domains = rcpt.test
  deny
    condition = ${here("null")}
    senders = :
    message = Null sender not accepted here
  deny
    condition = ${here("tls")}
    !encrypted = *
    message = Encryption required
  accept
`;

/**
 * Debian's own RCPT rules, reduced to those that decide about a recipient, and those that it proposes. Over quota is
 * Exim's own check of the mailbox's size at RCPT (`verify = recipient/quota`): once with a message, once without, where
 * Exim says only "Administrative prohibition". The greylisted mailbox asks greylistd, with the words of its
 * documentation.
 */
const rcptAcl = `acl_check_rcpt:
  deny
    condition = ${here("client")}
    hosts = 127.0.0.0/8
  deny
    condition = ${here("sender")}
    senders = *@rcpt.test
    message = sender envelope address $sender_address is locally blacklisted here. If you think this is wrong, get in touch with postmaster
  deny
    condition = ${here("senderDomain")}
    !verify = sender
  deny
    condition = ${here("callout")}
    !verify = sender/callout=2s
  deny
    condition = ${here("list")}
    dnslists = ${LIST}
    message = DNSBL listed at $dnslist_domain\\n$dnslist_text
  defer
    condition = ${here("ratelimit")}
    ratelimit = 1 / 1h / per_rcpt / strict
    message = Sender rate exceeds $sender_rate_limit messages per $sender_rate_period
  drop
    condition = ${here("errors")}
    condition = \${if >={$acl_c_wrong}{${WRONG_MAX}}}
    message = Too many failed recipients - count = $acl_c_wrong
  require
    message = relay not permitted
    domains = +local_domains
  warn
    condition = ${here("errors")}
    !verify = recipient
    set acl_c_wrong = \${eval10:0$acl_c_wrong+1}
  require
    verify = recipient
  deny
    local_parts = full
    !verify = recipient/quota=1s
    message = Mailbox quota exceeded
  require
    verify = recipient/quota=1s
  defer
    message = $sender_host_address is not yet authorized to deliver \\
              mail from <$sender_address> to <$local_part@$domain>. \\
              Please try later.
    log_message = greylisted.
    !senders = :
    local_parts = greylisted
    condition = \${readsocket{/run/greylistd/socket}\\
                  {--grey $sender_host_address $sender_address $local_part@$domain}{5s}{}{false}}
  accept
`;

/** Without a certificate of its own Exim offers STARTTLS with one made on the fly. */
export const config = (port: number) => `primary_hostname = mx.exim.test
domainlist local_domains = ${domains.join(" : ")}
local_interfaces = ${Object.values(AT)
  .map(({ ip }) => ip)
  .join(" : ")}
daemon_smtp_ports = ${port}
acl_smtp_connect = acl_check_connect
acl_smtp_helo = acl_check_helo
acl_smtp_mail = acl_check_mail
acl_smtp_rcpt = acl_check_rcpt
host_reject_connection = \${if eq{$received_ip_address}{${AT.shut.ip}}{*}{}}
smtp_accept_max = 100
smtp_accept_max_per_host = \${if eq{$received_ip_address}{${AT.connections.ip}}{3}{50}}
smtp_ratelimit_hosts = \${if eq{$received_ip_address}{${AT.errors.ip}}{*}{}}
smtp_ratelimit_mail = 20,0.1s,1.05,1s
smtputf8_advertise_hosts = *
log_selector = +smtp_connection +pid +incoming_interface
log_file_path = syslog
syslog_duplication = false
syslog_timestamp = false
keep_environment =
never_users = root
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts = *

begin acl
${connectAcl}
${heloAcl}
${mailAcl}
${rcptAcl}
begin routers
callout:
  driver = manualroute
  domains = rcpt.test
  condition = ${here("callout")}
  route_list = * 127.0.13.250
  transport = out
mailboxes:
  driver = accept
  domains = +local_domains : !catchall.exim.test
  local_parts = ${mailboxes.join(" : ")}
  transport = mailbox
everyone:
  driver = accept
  domains = catchall.exim.test
  transport = mailbox

begin transports
out:
  driver = smtp
  allow_localhost
  port = ${port}
mailbox:
  driver = appendfile
  file = /var/mail/$local_part
  user = mail
  group = mail
  quota = 1K
`;
