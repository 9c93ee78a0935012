import type { LifecycleRule } from "@aws-sdk/client-s3";
import type { Config } from "../../config/config.ts";
import { type DoctorFinding, type DoctorGroup, errorLine, fail, ok, skipped, warn } from "./finding.ts";
import { judgeLatency, judgeSkew } from "./judge-distance.ts";
import type { CorsAnswer, ObjectsFacts, TriedRight } from "./objects-facts.ts";

/** Dates of object storage are whole seconds. */
const DATE_TOLERANCE_MS = 1_000;
/** Chunks read and write a few objects each, beside much other work. */
const LATENCY_FAR_MS = 150;
/** Prefix of all our keys. */
const PREFIX = "teams/";
/** The permission that the service can do without. */
const OPTIONAL = "ListBucketMultipartUploads";

/** Faults of the object storage that prevent jobs and uploads. Pure. */
export function judgeObjects(facts: ObjectsFacts, config: Pick<Config, "retentionDays">): DoctorFinding[] {
  const skew =
    facts.skewMs === null
      ? skipped("clock", "It tells no time.")
      : judgeSkew("clock", "object storage", facts.skewMs, DATE_TOLERANCE_MS);
  return [
    judgeLatency("distance", facts.latencyMs, LATENCY_FAR_MS),
    skew,
    ...judgeRights(facts.tried),
    judgePresigned(facts.presigned),
    judgeCors(facts.cors),
    judgeLifecycle(facts, config),
    judgeVersions(facts),
  ];
}

function judgeRights(tried: readonly TriedRight[]): DoctorFinding[] {
  const check = "rights";
  const failed = tried.filter(({ error }) => error !== null);
  const found = failed
    .filter(({ right }) => right !== OPTIONAL)
    .map(({ right, error, status }) =>
      fail(
        check,
        `${right} failed (${error}).`,
        status === 403
          ? `Allow s3:${right.split(" ")[0]} on the bucket and its objects to our credentials (docs/operations.md lists all rights).`
          : "See the object storage's log: jobs and uploads need it.",
      ),
    );
  if (failed.some(({ right }) => right === OPTIONAL))
    found.push(
      warn(
        check,
        `${OPTIONAL} is refused: parts of uploads that were never finished stay.`,
        "Allow it, or let a lifecycle rule of the bucket abort incomplete multipart uploads after seven days.",
      ),
    );
  if (found.length > 0) return found;
  return [ok(check, `${tried.map(({ right }) => right).join(", ")} work.`)];
}

function judgePresigned({ host, error, status }: ObjectsFacts["presigned"]): DoctorFinding {
  const check = "presigned URLs";
  if (error === null) return ok(check, `An upload by a URL of ${host} works from here.`);
  if (status === null)
    return warn(
      check,
      `${host} cannot be reached from here (${error}); clients may reach it all the same.`,
      "Try from outside: POST /v1/uploads, then PUT to its URL. S3_PUBLIC_ENDPOINT is the host that clients see.",
    );
  return fail(
    check,
    `An upload by a URL of ${host} is refused (${error}).`,
    "A proxy before it must leave Host and path as they are: the signature is over them.",
  );
}

/** Programs send files all the same. */
function judgeCors(answer: CorsAnswer | null): DoctorFinding {
  const check = "CORS";
  if (answer === null)
    return skipped(check, "PUBLIC_URL is not set: from which origin the portal sends files is not known.");
  const { origin, allowed, status } = answer;
  if (status === null) return skipped(check, "URLs for uploads cannot be reached from here.");
  if (allowed) return ok(check, `Pages of ${origin} may send files to the bucket.`);
  return warn(
    check,
    `The bucket does not let pages of ${origin} send files (status ${status}): the portal cannot upload lists.`,
    `Give the bucket a CORS rule: AllowedOrigins ${origin}, AllowedMethods PUT, AllowedHeaders * (docs/operations.md).`,
  );
}

/** Days after which a rule deletes our objects; null: it does not. */
function expiryOf({ Expiration, Filter, Prefix }: LifecycleRule): number | null {
  const prefix = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? "";
  const tags = [Filter?.Tag, ...(Filter?.And?.Tags ?? [])].filter((tag) => tag !== undefined);
  // Our objects have no tags.
  if (tags.length > 0 || Expiration?.Days === undefined) return null;
  return prefix.startsWith(PREFIX) || PREFIX.startsWith(prefix) ? Expiration.Days : null;
}

function judgeLifecycle(
  { rules }: ObjectsFacts,
  { retentionDays }: Pick<Config, "retentionDays">,
): DoctorFinding {
  const check = "lifecycle";
  if (rules === null) return skipped(check, "It does not tell its rules.");
  const days = rules.flatMap((rule) => expiryOf(rule) ?? []);
  const soonest = Math.min(...days);
  if (soonest <= retentionDays)
    return fail(
      check,
      `A rule takes objects away after ${soonest} days; uploads, sources and results are kept for RETENTION_DAYS=${retentionDays}.`,
      `Let the rule begin after ${retentionDays + 2} days, or not be about ${PREFIX}: rcpt tidies up itself.`,
    );
  if (rules.some((rule) => rule.AbortIncompleteMultipartUpload !== undefined))
    return ok(check, "A rule aborts what is uploaded in parts and never finished.");
  return ok(check, "No rule is in our way; a rule that aborts incomplete multipart uploads does no harm.");
}

function judgeVersions({ versioned, versionsLeft }: ObjectsFacts): DoctorFinding {
  const check = "versions";
  if (versioned === null) return skipped(check, "It does not tell whether it keeps versions.");
  if (versioned)
    return ok(
      check,
      `Objects have versions: let a lifecycle rule expire noncurrent ones, which nobody tidies.${
        versionsLeft > 0 ? " What was tried here has left some (s3:DeleteObjectVersion is not ours)." : ""
      }`,
    );
  return ok(check, "Objects have no versions: what is deleted cannot be restored (docs/operations.md).");
}

export const OBJECTS_GROUP: DoctorGroup = {
  name: "objects",
  title: "object storage",
  async examine({ config, clock }, { note, atEnd }) {
    const settings = config.objects;
    if (settings === null)
      return note(skipped("bucket", "S3_BUCKET is not set: there is no bulk verification."));
    const [{ createObjectStore, httpStatus }, { lookAtObjects }] = await Promise.all([
      import("../../stores/objects/objects.ts"),
      import("./objects-facts.ts"),
    ]);
    const store = createObjectStore(settings, clock);
    atEnd(() => store.stop());
    let facts: ObjectsFacts;
    try {
      const { publicUrl } = config.http;
      facts = await lookAtObjects(
        store,
        settings,
        clock,
        publicUrl === null ? null : new URL(publicUrl).origin,
      );
    } catch (error) {
      return note(judgeUnreachable(settings, httpStatus(error), error));
    }
    note(ok("bucket", `The bucket ${settings.bucket} answers.`), ...judgeObjects(facts, config));
  },
};

function judgeUnreachable(
  { bucket }: NonNullable<Config["objects"]>,
  status: number | undefined,
  error: unknown,
): DoctorFinding {
  if (status === 404)
    return fail(
      "bucket",
      `There is no bucket ${bucket}.`,
      "Run `migrate`, which makes it, or correct S3_BUCKET.",
    );
  if (status === 403)
    return fail(
      "bucket",
      `The bucket ${bucket} is denied to us (status 403).`,
      "Check S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, the bucket's policy, the region and this machine's clock.",
    );
  const why = status === undefined ? errorLine(error) : `status ${status}`;
  return fail(
    "bucket",
    `Object storage is unavailable (${why}).`,
    "Check S3_ENDPOINT and S3_REGION, and that it runs.",
  );
}
