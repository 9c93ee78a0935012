import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

/** A JSON value being written: of the OpenAPI document, or a JSON Schema (2020-12). */
export type Json = Record<string, unknown>;

export interface Schemas {
  /** Schemas converted so far, by title. */
  components: Json;
  /** Converts the schema of the input, before transformations. */
  input(schema: v.GenericSchema): Json;
  /** Converts the schema of the output. */
  output(schema: v.GenericSchema): Json;
}

/** Fields that say the same wherever they are; every other is described beside its schema. */
const COMMON_DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: "Its id: prefixed, sorts by creation.",
  created_at: "When it was made (ISO 8601, UTC).",
  data: "The entries of this page.",
};

const COMPONENTS = "#/components/schemas/";

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

/** Tells readers which option of a union it is, by the constant that each has under `name`. */
function describeDiscriminator(union: Json, name: string, components: Json): void {
  const options = (union.oneOf as { $ref: string }[]).map(({ $ref }) => {
    const option = components[$ref.slice(COMPONENTS.length)] as {
      properties: Record<string, { const: string }>;
    };
    return [option.properties[name]?.const, $ref];
  });
  union.discriminator = { propertyName: name, mapping: Object.fromEntries(options) };
}

/**
 * Moves schemas with a title to the components, and leaves references in their place.
 * @throws Error when two different schemas have one title
 */
function refer(value: unknown, components: Json): unknown {
  if (Array.isArray(value)) return value.map((one) => refer(one, components));
  if (!isJson(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one, components)]));
  // Some engines cannot read classes such as \p{Cc}: the field's description names the allowed characters.
  if (typeof inner.pattern === "string" && inner.pattern.includes("\\p{")) delete inner.pattern;
  if (typeof inner.const === "string") inner.type = "string";
  if (isJson(inner.discriminator))
    describeDiscriminator(inner, inner.discriminator.propertyName as string, components);
  // A description of one field with this schema is left at the field.
  const { title, description, default: preset, ...schema } = inner;
  if (typeof title !== "string") return inner;
  components[title] ??= schema;
  if (JSON.stringify(components[title]) !== JSON.stringify(schema))
    throw new Error(`Two schemas that differ are named ${title}`);
  return {
    $ref: COMPONENTS + title,
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset }),
  };
}

/** Converts the schemas of a route table; those with a title are written once, among the components. */
export function createSchemas(): Schemas {
  const components: Json = {};
  const convert = (typeMode: "input" | "output") => (schema: v.GenericSchema) => {
    const { $schema: _dialect, ...rest } = toJsonSchema(schema, {
      target: "draft-2020-12",
      typeMode,
      errorMode: "ignore",
      overrideSchema: ({ valibotSchema, jsonSchema }) =>
        valibotSchema.type === "variant"
          ? {
              ...jsonSchema,
              discriminator: { propertyName: (valibotSchema as unknown as { key: string }).key },
            }
          : undefined,
    });
    return refer(describeFields(rest), components) as Json;
  };
  return { components, input: convert("input"), output: convert("output") };
}
