/** DNS queries for each domain besides its exchangers. Plain data: it is passed to the check threads. */
export interface DomainSignalsConfig {
  spf: boolean;
  dmarc: boolean;
  /** DNS zones that list domains by name (RFC 5782). */
  blocklistZones: string[];
}

/** An address of this host that probes come from. */
export interface SourceAddress {
  /** IPv4 or IPv6 literal. */
  address: string;
  heloName: string;
}

/** A SOCKS5 proxy for probes. Its credentials are secret: never log it as a whole. */
export interface ProxyConfig {
  /** Host name, or IPv4 or IPv6 literal without brackets. */
  host: string;
  port: number;
  /** RFC 1929; null: the proxy requires none. */
  credentials: { username: string; password: string } | null;
  heloName: string;
}

/** Identity and target of probes. Plain data: it is passed to the check threads. */
export interface SmtpConfig {
  port: number;
  /** Default for egress routes without their own. */
  heloName: string;
  /** Reverse path of MAIL FROM; "" is the null sender. */
  mailFrom: string;
  sourceAddresses: SourceAddress[];
  proxies: ProxyConfig[];
  egressId: string;
  probePrivateAddresses: boolean;
}

/** Settings of the self-check. */
export interface SelfCheckConfig {
  /** DNS blocklists that are asked about our addresses. */
  dnsblZones: string[];
  /** Interval between two self-checks while the process probes. */
  everyMs: number;
}
