/**
 * The kinds of values that a field of evidence may have. A kind reads a value of untrusted JSON, and has the field's value
 * if the text lacks it.
 */
export interface Kind<T> {
  /** @throws TypeError for a value of another kind */
  read(value: unknown): T;
  /** The value for JSON: unchanged, or a struct without its default values. */
  pack(value: T): unknown;
  /** The value of a field that is absent; REQUIRED: without it nothing can be read. */
  readonly absent: T | typeof REQUIRED;
  /** The same kind, of a field that may be absent: a text of an earlier build has no later field. */
  or(absent: T): Kind<T>;
}

/** A field that was added to evidence after others were written. A maker that does not set it leaves it absent. */
export interface LaterKind<T> extends Kind<T> {
  readonly isLater: true;
}

const REQUIRED = Symbol("required");

export type ValueOf<K> = K extends Kind<infer T> ? T : never;

function kindOf<T>(
  read: (value: unknown) => T,
  pack: (value: T) => unknown = (value) => value,
  absent: T | typeof REQUIRED = REQUIRED,
): Kind<T> {
  return { read, pack, absent, or: (other) => kindOf(read, pack, other) };
}

function kindWhere<T>(is: (value: unknown) => value is T, name: string): Kind<T> {
  return kindOf((value) => {
    if (!is(value)) throw new TypeError(`not ${name}`);
    return value;
  });
}

export const text = kindWhere((value): value is string => typeof value === "string", "a text");
export const flag = kindWhere((value): value is boolean => typeof value === "boolean", "a flag");
export const number = kindWhere(
  (value): value is number => typeof value === "number" && Number.isFinite(value),
  "a number",
);
export const integer = kindWhere((value): value is number => Number.isInteger(value), "a whole number");

/** One of a closed list of names. */
export function oneOf<const T extends string>(...names: readonly T[]): Kind<T> {
  const known: ReadonlySet<unknown> = new Set(names);
  return kindWhere((value): value is T => known.has(value), "a known name");
}

/** Null is what an absent field is. */
export function nullable<T>(kind: Kind<T>): Kind<T | null> {
  return kindOf(
    (value) => (value === null ? null : kind.read(value)),
    (value) => (value === null ? null : kind.pack(value)),
    null,
  );
}

/** Undefined is what an absent field is. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  const pack = (value: T | undefined) => (value === undefined ? value : kind.pack(value));
  return { ...kindOf<T | undefined>(kind.read, pack), absent: undefined };
}

/** The maker of evidence need not know the field: without it, it is what an absent one is. */
export function later<T>(kind: Kind<T>): LaterKind<T> {
  return { ...kind, isLater: true };
}

/** The empty list is what an absent field is. */
export function listOf<T>(kind: Kind<T>): Kind<readonly T[]> {
  const empty: readonly T[] = Object.freeze([]);
  function read(value: unknown): readonly T[] {
    if (!Array.isArray(value)) throw new TypeError("not a list");
    return Object.freeze(value.map((item) => kind.read(item)));
  }
  // Empty lists are one object, so that a comparison by identity works for them.
  return kindOf(read, (list) => (list.length === 0 ? empty : list), empty);
}

// biome-ignore lint/suspicious/noExplicitAny: a kind is invariant in what it reads; nothing is called through this type.
export type AnyFields = Readonly<Record<string, Kind<any>>>;
export type StructOf<F extends AnyFields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };
// biome-ignore lint/suspicious/noExplicitAny: as above.
type LaterNames<F> = { [Name in keyof F]: F[Name] extends LaterKind<any> ? Name : never }[keyof F];
/** The values from which a struct is made. */
export type PartsOf<F extends AnyFields> = Omit<StructOf<F>, LaterNames<F>> &
  Partial<Pick<StructOf<F>, LaterNames<F>>>;

/** Several fields. What else a text has is another build's, and left out. */
export function struct<const F extends AnyFields>(
  fields: F,
  isSound: (value: StructOf<F>) => boolean = () => true,
): Kind<StructOf<F>> {
  const all = Object.entries(fields);

  function readField(from: object, name: string, kind: Kind<unknown>): unknown {
    if (Object.hasOwn(from, name)) return kind.read(Reflect.get(from, name));
    if (kind.absent === REQUIRED) throw new TypeError(`no ${name}`);
    return kind.absent;
  }

  function read(value: unknown): StructOf<F> {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new TypeError("not a struct");
    const read = Object.fromEntries(all.map(([name, kind]) => [name, readField(value, name, kind)]));
    if (!isSound(read as StructOf<F>)) throw new TypeError("not sound");
    return Object.freeze(read) as StructOf<F>;
  }

  function pack(value: StructOf<F>): Record<string, unknown> {
    const packed: Record<string, unknown> = {};
    for (const [name, kind] of all) {
      const own: unknown = value[name];
      const short = own === undefined ? undefined : kind.pack(own);
      if (short !== kind.absent) packed[name] = short;
    }
    return packed;
  }

  return kindOf(read, pack);
}
