import { setFlagsFromString } from "node:v8";

/**
 * Whether V8 holds both to be of one shape (its "map"), so that who reads one field after the other finds it where the last
 * one was. The compiler of this one function alone sees V8's own words.
 */
export const haveSameShape: (one: object, other: object) => boolean = (() => {
  setFlagsFromString("--allow-natives-syntax");
  try {
    return new Function("one", "other", "return %HaveSameMap(one, other);") as never;
  } finally {
    setFlagsFromString("--no-allow-natives-syntax");
  }
})();

/** How many shapes they have. */
export function shapesOf(objects: readonly object[]): number {
  const shapes: object[] = [];
  for (const object of objects)
    if (!shapes.some((shape) => haveSameShape(shape, object))) shapes.push(object);
  return shapes.length;
}
