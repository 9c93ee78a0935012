/** A text as one word of a shell. */
const shellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A text as a literal. JSON's form is valid in TypeScript and Python too. */
const literal = (text: string) => JSON.stringify(text);

const curlText = (url: string, email: string) =>
  `curl -G ${url} -H "Authorization: Bearer $RCPT_KEY" \\\n  --data-urlencode ${shellWord(`email=${email}`)}`;

const typeScriptText = (
  url: string,
  email: string,
) => `const query = new URLSearchParams({ email: ${literal(email)} });
const answer = await fetch(\`${url}?\${query}\`, {
  headers: { Authorization: \`Bearer \${process.env.RCPT_KEY}\` },
});
if (!answer.ok) throw new Error(\`\${answer.status}: \${await answer.text()}\`);
const result = (await answer.json()) as { verdict: string; reason: string };
console.log(result.verdict, result.reason);`;

const pythonText = (url: string, email: string) => `import json, os, urllib.parse, urllib.request

query = urllib.parse.urlencode({"email": ${literal(email)}})
request = urllib.request.Request(
    ${literal(`${url}?`)} + query,
    headers={"Authorization": "Bearer " + os.environ["RCPT_KEY"]},
)
with urllib.request.urlopen(request) as answer:
    result = json.load(answer)
print(result["verdict"], result["reason"])`;

/** The same question in each language, with the key in the environment as RCPT_KEY. */
export const CALL_TEXTS: Readonly<Record<string, (url: string, email: string) => string>> = {
  curl: curlText,
  TypeScript: typeScriptText,
  Python: pythonText,
};
