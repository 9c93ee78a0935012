import type { Endpoint, MailServer } from "./mail-server.ts";

/**
 * Debian's own RCPT rules, cut to what decides about a recipient. Over quota is Exim's own check of the mailbox's
 * size at RCPT (`verify = recipient/quota`): once with a message, once without, where Exim says only
 * "Administrative prohibition". The greylisted mailbox asks greylistd, with the words of its documentation. Without a
 * certificate of its own Exim offers STARTTLS with one made on the fly.
 */
const config = ({ ip, port }: Endpoint) => `primary_hostname = mx.exim.test
domainlist local_domains = exim.test : catchall.exim.test
local_interfaces = ${ip}
daemon_smtp_ports = ${port}
acl_smtp_rcpt = acl_check_rcpt
log_file_path = syslog
syslog_duplication = false
keep_environment =
never_users = root
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts = *

begin acl
acl_check_rcpt:
  require
    message = relay not permitted
    domains = +local_domains
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

begin routers
mailboxes:
  driver = accept
  domains = exim.test
  local_parts = existing : full : prohibited : greylisted
  transport = mailbox
everyone:
  driver = accept
  domains = catchall.exim.test
  transport = mailbox

begin transports
mailbox:
  driver = appendfile
  file = /var/mail/$local_part
  user = mail
  group = mail
  quota = 1K
`;

export const exim: MailServer = {
  name: "exim",
  host: "mx.exim.test",
  ip: "127.0.10.3",
  packages: ["exim4-daemon-light", "greylistd", "dash", "coreutils"],
  users: [
    { name: "mail", uid: 8, home: "/var/mail" },
    { name: "Debian-exim", uid: 101, home: "/var/spool/exim4", groups: ["greylist"] },
    { name: "greylist", uid: 102, home: "/var/lib/greylistd" },
  ],
  mailboxes: [
    { address: "existing@exim.test", kind: "existing" },
    { address: "missing@exim.test", kind: "missing" },
    { address: "full@exim.test", kind: "full" },
    { address: "prohibited@exim.test", kind: "policy" },
    { address: "greylisted@exim.test", kind: "greylisted" },
    { address: "somebody@catchall.exim.test", kind: "catch_all" },
  ],
  files: (endpoint) => ({ "/etc/exim4/exim4.conf": config(endpoint) }),
  start: `
mkdir -p /run/exim4 /run/greylistd /var/spool/exim4 /var/log/exim4 /var/mail
chown Debian-exim:Debian-exim /run/exim4 /var/spool/exim4 /var/log/exim4
chown greylist:greylist /run/greylistd /var/lib/greylistd
for mailbox in full prohibited; do dd if=/dev/zero of=/var/mail/$mailbox bs=2048 count=1 2>/dev/null; done
chown -R mail:mail /var/mail
chroot --userspec=greylist:greylist / /usr/sbin/greylistd &
until [ -S /run/greylistd/socket ]; do sleep 0.05; done
exim4 -bdf &
`,
};
