import type { MxHost } from "./mx-host.ts";

const NONE: ReadonlySet<MxHost> = new Set();

/** The MX hosts of a pool: by key, by site, and by the cap that their connections count against. */
export class MxHosts {
  readonly #byKey = new Map<string, MxHost>();
  readonly #bySite = new Map<string, Set<MxHost>>();
  readonly #byCap = new Map<string, Set<MxHost>>();

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): MxHost | undefined {
    return this.#byKey.get(key);
  }

  all(): Iterable<MxHost> {
    return this.#byKey.values();
  }

  entries(): Iterable<[string, MxHost]> {
    return this.#byKey.entries();
  }

  atSite(site: string): ReadonlySet<MxHost> {
    return this.#bySite.get(site) ?? NONE;
  }

  atCap(cap: string): ReadonlySet<MxHost> {
    return this.#byCap.get(cap) ?? NONE;
  }

  add(key: string, host: MxHost): void {
    this.#byKey.set(key, host);
    addToGroup(this.#bySite, host.site, host);
    addToGroup(this.#byCap, host.cap, host);
  }

  delete(key: string, host: MxHost): void {
    this.#byKey.delete(key);
    removeFromGroup(this.#bySite, host.site, host);
    removeFromGroup(this.#byCap, host.cap, host);
  }

  clear(): void {
    this.#byKey.clear();
    this.#bySite.clear();
    this.#byCap.clear();
  }
}

function addToGroup(groups: Map<string, Set<MxHost>>, key: string, host: MxHost): void {
  groups.set(key, (groups.get(key) ?? new Set()).add(host));
}

function removeFromGroup(groups: Map<string, Set<MxHost>>, key: string, host: MxHost): void {
  const group = groups.get(key);
  group?.delete(host);
  if (group?.size === 0) groups.delete(key);
}
