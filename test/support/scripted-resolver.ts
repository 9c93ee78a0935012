import type { DnsOutcome, FullResolver, MxRecord } from "../../src/dns/resolver.ts";

type Type = "MX" | "A" | "AAAA" | "TXT" | "PTR";
/** Records of a name by type; `fail` answers SERVFAIL, `unproven` NXDOMAIN without an SOA. */
export type ScriptedNames = Record<string, Partial<Record<Type, readonly string[] | "fail" | "unproven">>>;

export interface ScriptedResolver extends FullResolver {
  names: ScriptedNames;
  /** `TYPE name`, in order. */
  readonly asked: string[];
}

const TTL_S = 60;

/** A resolver with the given names; all others do not exist. MX records are written `10 host`. */
export function createScriptedResolver(names: ScriptedNames = {}): ScriptedResolver {
  const asked: string[] = [];
  const resolver: ScriptedResolver = {
    names,
    asked,
    mx: (name) => ask(name, "MX", mxRecord),
    a: (name) => ask(name, "A", asIs),
    aaaa: (name) => ask(name, "AAAA", asIs),
    txt: (name) => ask(name, "TXT", asIs),
    ptr: (name) => ask(name, "PTR", asIs),
    close: async () => {},
  };

  async function ask<T>(name: string, type: Type, read: (text: string) => T): Promise<DnsOutcome<T>> {
    asked.push(`${type} ${name}`);
    const entry = resolver.names[name];
    const records = entry?.[type];
    if (records === "fail") return { status: "server_failure", code: "SERVFAIL" };
    if (records === "unproven") return { status: "nxdomain", ttlS: TTL_S, proven: false };
    if (records !== undefined) return { status: "ok", records: records.map(read), ttlS: TTL_S };
    return { status: entry === undefined ? "nxdomain" : "no_data", ttlS: TTL_S, proven: true };
  }
  return resolver;
}

const asIs = (text: string) => text;

function mxRecord(text: string): MxRecord {
  const [preference = "", exchange = ""] = text.split(" ");
  return { preference: Number(preference), exchange };
}
