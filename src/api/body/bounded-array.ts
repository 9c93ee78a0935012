import * as v from "valibot";

/**
 * An array of `min` to `max` items. One that is too long is refused before its items are validated. valibot notes every
 * wrong item, and half a million fit into a body: that would block the process for most of a second.
 */
export function boundedArray<T>(item: v.GenericSchema<unknown, T>, min: number, max: number) {
  const schema = v.pipe(
    v.array(item),
    v.minLength(min, `must have at least ${min} item${min === 1 ? "" : "s"}`),
    v.maxLength(max, `must have at most ${max} items`),
  );
  const countOnly = v.pipe(v.array(v.unknown()), v.maxLength(max, `must have at most ${max} items`));
  const run: (typeof schema)["~run"] = (dataset, config) => {
    const tooMany = Array.isArray(dataset.value) && dataset.value.length > max;
    return tooMany ? (countOnly["~run"](dataset, config) as never) : schema["~run"](dataset, config);
  };
  return { ...schema, "~run": run };
}
