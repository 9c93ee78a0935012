import { setFlagsFromString } from "node:v8";

/**
 * Whether V8 gives both objects one hidden class (its "map"), so that reading a field of both stays monomorphic. Native
 * syntax is enabled only while this one function is compiled.
 */
export const haveSameShape: (one: object, other: object) => boolean = (() => {
  setFlagsFromString("--allow-natives-syntax");
  try {
    return new Function("one", "other", "return %HaveSameMap(one, other);") as never;
  } finally {
    setFlagsFromString("--no-allow-natives-syntax");
  }
})();

/** Number of distinct hidden classes. */
export function shapesOf(objects: readonly object[]): number {
  const shapes: object[] = [];
  for (const object of objects)
    if (!shapes.some((shape) => haveSameShape(shape, object))) shapes.push(object);
  return shapes.length;
}
