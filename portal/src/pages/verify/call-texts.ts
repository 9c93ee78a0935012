/** A text as one word of a shell. */
const shellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A text as a literal. JSON's form is valid in TypeScript and Python too. */
const literal = (text: string) => JSON.stringify(text);

const curlText = (service: string, email: string) =>
  `curl -G ${service}/v1/verify -H "Authorization: Bearer $RCPT_KEY" \\\n  -d evidence=true --data-urlencode ${shellWord(`email=${email}`)}`;

const typeScriptText = (service: string, email: string) => `import { createClient } from "@rcpt/client";

const client = createClient({ url: ${literal(service)}, key: process.env.RCPT_KEY });
const { verdict, reason } = await client.verify(${literal(email)}, { evidence: true });
console.log(verdict, reason);`;

const pythonText = (service: string, email: string) => `import json, os, urllib.parse, urllib.request

query = urllib.parse.urlencode({"email": ${literal(email)}, "evidence": "true"})
request = urllib.request.Request(
    ${literal(`${service}/v1/verify?`)} + query,
    headers={"Authorization": "Bearer " + os.environ["RCPT_KEY"]},
)
with urllib.request.urlopen(request) as answer:
    result = json.load(answer)
print(result["verdict"], result["reason"])`;

/** The same question in each language, with the key in the environment as RCPT_KEY. @param service its URL, without a slash */
export const CALL_TEXTS: Readonly<Record<string, (service: string, email: string) => string>> = {
  curl: curlText,
  TypeScript: typeScriptText,
  Python: pythonText,
};
