// A program that uses a client generated in TypeScript; prints the results as JSON.
import { Api, type BulkJob, type Problem } from "./api.ts";

const { RCPT_URL: baseUrl = "", RCPT_API_KEY: token = "" } = process.env;
function clientOf(key: string): Api<string> {
  const client = new Api<string>({
    baseUrl,
    securityWorker: (secret) => ({ headers: { Authorization: `Bearer ${secret}` } }),
  });
  client.setSecurityData(key);
  return client;
}

const client = clientOf(token);
const { data: result } = await client.v1.verifyAddress({ email: "valid@example.com", evidence: true });
const sources: BulkJob["source"][] = [];
for (const emails of [["valid@example.com", "no-address"], ["unknown@example.com"]]) {
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  sources.push((await client.v1.submitBulk({ emails }, { headers })).data.source);
}
const jobs: BulkJob[] = [];
let cursor: string | null | undefined;
do {
  const { data: page } = await client.v1.listBulkJobs({ limit: 1, ...(cursor ? { cursor } : {}) });
  jobs.push(...page.data);
  cursor = page.next_cursor;
} while (cursor && jobs.length < 2);
const { data: history } = await client.v1.getUsageHistory({ days: 7 });
const refused: Problem = await clientOf("rcpt_live_unknown")
  .v1.getUsage()
  .then(
    () => Promise.reject(new Error("an unknown key was let in")),
    (response: { error: Problem }) => response.error,
  );
console.log(
  JSON.stringify({
    verdict: result.verdict,
    takes_mail: result.checks.mx.ok,
    source: sources[0]?.type,
    jobs: jobs.length,
    days: history.days,
    code: refused.code,
  }),
);
