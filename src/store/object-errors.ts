/** Object storage answered that there is no such object, or no such bytes of it. */
export class MissingObject extends Error {
  override name = "MissingObject";
}

/** There is an object of that key, but not the one that was asked for by its ETag. */
export class ChangedObject extends Error {
  override name = "ChangedObject";
}

/** Somebody else's bucket does not let us read, or the object cannot be read as it is kept there. */
export class ForbiddenObject extends Error {
  override name = "ForbiddenObject";
}

/** Object storage failed us more often in a row than we try: it may succeed later. */
export class ObjectsOutage extends Error {
  override name = "ObjectsOutage";
}
