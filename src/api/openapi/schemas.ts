import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type * as v from "valibot";
import type { Route } from "../routing/route.ts";

/** A JSON value being written: of the OpenAPI document, or a JSON Schema (2020-12). */
export type Json = Record<string, unknown>;

export interface Schemas {
  /** By name: the objects that several operations answer with. */
  components: Json;
  /** What goes in: before transformations. */
  input(schema: v.GenericSchema): Json;
  /** What comes out. */
  output(schema: v.GenericSchema): Json;
}

/** Fields that say the same wherever they are; every other is described beside its schema. */
const COMMON_DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: "Its id: prefixed, sorts by creation.",
  created_at: "When it was made (ISO 8601, UTC).",
  data: "The entries of this page.",
};

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** The description of the one thing that a nullable field may be besides null. */
function liftedDescription(field: Json): unknown {
  const options = Array.isArray(field.anyOf) ? field.anyOf.filter(isJson) : [];
  return options.find((option) => option.description !== undefined)?.description;
}

/** Gives each field of the objects within its description. */
function describeFields(schema: Json): Json {
  for (const [name, field] of Object.entries(isJson(schema.properties) ? schema.properties : {}))
    if (isJson(field) && field.description === undefined) {
      const description = liftedDescription(field) ?? COMMON_DESCRIPTIONS[name];
      if (description !== undefined) field.description = description;
    }
  for (const value of Object.values(schema))
    for (const inner of Array.isArray(value) ? value : [value]) if (isJson(inner)) describeFields(inner);
  return schema;
}

interface SchemaPart {
  schema: v.GenericSchema;
  /** Names of the fields that lead to it; entries of a list have the name of the list. */
  fields: readonly string[];
}

/** The schemas that a schema is made of, itself first. */
function* nestedSchemas(part: SchemaPart): Generator<SchemaPart> {
  yield part;
  const { entries, pipe, options, wrapped, item, value } = part.schema as unknown as Record<string, unknown>;
  const inner: [unknown, readonly string[]][] = [
    ...Object.entries(isJson(entries) ? entries : {}).map(([name, field]): [unknown, readonly string[]] => [
      field,
      [...part.fields, name],
    ]),
    ...[pipe, options]
      .flatMap((list) => (Array.isArray(list) ? list : []))
      .map((one): [unknown, readonly string[]] => [one, part.fields]),
    [wrapped, part.fields],
    [item, part.fields],
    [value, part.fields],
  ];
  for (const [schema, fields] of inner)
    if (isJson(schema) && schema.kind === "schema" && schema !== (part.schema as unknown))
      yield* nestedSchemas({ schema: schema as unknown as v.GenericSchema, fields });
}

const isObject = (schema: v.GenericSchema) => schema.type === "object" && !("pipe" in schema);

const pascal = (text: string) =>
  text
    .split(/[^a-z0-9]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/** `/v1/team/invites` and no field → `Invite`; `/v1/bulk-jobs`, `rows` → `BulkJobRows`. */
function nameFor(path: string, fields: readonly string[]): string {
  const segment = path.split("/").findLast((part) => part !== "" && !part.startsWith("{")) ?? "";
  const one = segment.replace(/ies$/, "y").replace(/s$/, "");
  return (
    pascal(one) +
    fields
      .filter((name) => name !== "data")
      .map(pascal)
      .join("")
  );
}

/** Every schema of the answers with who uses it, those of GET first: a resource is named after where it is read. */
function* answeredSchemas(routes: readonly Route[]): Generator<SchemaPart & { route: Route }> {
  const readsFirst = routes.toSorted((a, b) => Number(b.method === "GET") - Number(a.method === "GET"));
  for (const route of readsFirst)
    for (const { schema } of [route.success, ...(route.alternatives ?? [])])
      if (schema !== null) for (const part of nestedSchemas({ schema, fields: [] })) yield { ...part, route };
}

/** Objects that more than one operation answers with, by name. */
function sharedSchemas(routes: readonly Route[]): Record<string, v.GenericSchema> {
  const uses = new Map<v.GenericSchema, { name: string; operations: Set<string> }>();
  for (const { schema, fields, route } of answeredSchemas(routes)) {
    if (!isObject(schema)) continue;
    const use = uses.get(schema) ?? { name: nameFor(route.path, fields), operations: new Set() };
    uses.set(schema, use);
    use.operations.add(route.operationId);
  }
  const shared: Record<string, v.GenericSchema> = {};
  for (const [schema, { name, operations }] of uses) {
    if (operations.size < 2) continue;
    let free = name;
    for (let n = 2; Object.hasOwn(shared, free); n++) free = `${name}${n}`;
    shared[free] = schema;
  }
  return shared;
}

/** Converts the schemas of a route table; what several operations answer with is written once. */
export function createSchemas(routes: readonly Route[], always: Record<string, v.GenericSchema>): Schemas {
  const definitions = { ...always, ...sharedSchemas(routes) };
  const config = (typeMode: "input" | "output"): ConversionConfig => ({
    target: "draft-2020-12",
    typeMode,
    errorMode: "ignore",
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  });

  function convert(schema: v.GenericSchema, conversion: ConversionConfig): Json {
    const { $schema: _dialect, $defs: _definitions, ...rest } = toJsonSchema(schema, conversion);
    return describeFields(rest);
  }

  const components: Json = toJsonSchemaDefs(definitions, config("output"));
  for (const component of Object.values(components)) if (isJson(component)) describeFields(component);
  return {
    components,
    input: (schema) => convert(schema, { ...config("input"), definitions: {} }),
    output: (schema) => convert(schema, { ...config("output"), definitions }),
  };
}
