// A client of the TypeScript SDK v2: reads one question a line from standard
// input, as {method, name, uri, arguments}, and prints what comes of it, a line
// each: {progress} as it comes, then {result} or {error}.
//
//   node client.mjs MODULE URL ERA
//
// MODULE is the SDK's file; HEADERS in the environment are those of each request.
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [module, url, era] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(module));

const client = new Client(
  { name: "typescript", version: "1" },
  { versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : era } },
);
const headers = JSON.parse(process.env.HEADERS);
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const onprogress = (progress) => print({ progress });
const asked = {
  "tools/list": () => client.listTools(),
  "resources/list": () => client.listResources(),
  "resources/templates/list": () => client.listResourceTemplates(),
  "prompts/list": () => client.listPrompts(),
  "tools/call": (q) => client.callTool({ name: q.name, arguments: q.arguments }, { onprogress }),
  "resources/read": (q) => client.readResource({ uri: q.uri }),
  "prompts/get": (q) => client.getPrompt({ name: q.name, arguments: q.arguments }),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const q = JSON.parse(line);
  try {
    print({ result: await asked[q.method](q) });
  } catch (error) {
    print({ error: String(error) });
  }
}
await client.close();
