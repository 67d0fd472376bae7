// The client that the suite starts, once for each scenario: Keybearer with the suite's server behind it, an
// agent in front, and a person who opens the links. Ends with 0 when the agent's call came through.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../test/support/agents/agent.ts';
import { connectAgent } from '../test/support/agents/connect-agent.ts';
import { Browser } from '../test/support/sign-in/browser-jar.ts';
import { isObject, type JsonObject } from '../test/support/upstreams/message.ts';
import { copyOf } from './database.ts';
import { type RunningKeybearer, startKeybearer } from './keybearer.ts';
import { signIn, standInFor } from './person.ts';
import { OWN_DOCUMENT, settingFor } from './scenarios.ts';

const SERVER = 'suite';
const TOOL = `${SERVER}__test-tool`;
const CONNECT = `${SERVER}__connect`;
const MODERN = '2026-07-28';
/** The suite ends a client after this time and more; what we know has to be said before. */
const LIFE_MS = 25_000;
/** More than any scenario forgives: it is Keybearer that has to stop asking, not the person. */
const PATIENCE = 5;

const { env } = process;
const extra = env['CONFORMANCE_EXTRA'];

void sleep(LIFE_MS, undefined, { ref: false }).then(() => {
  console.error(`Not done after ${LIFE_MS} ms`);
  process.exit(1);
});

async function main(): Promise<void> {
  const serverUrl = process.argv.at(-1) ?? '';
  const context: unknown = JSON.parse(env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
  const setting = settingFor(env['MCP_CONFORMANCE_SCENARIO'] ?? '', isObject(context) ? context : {}, extra);
  const databaseUrl = await copyOf(env['CONFORMANCE_DATABASE_URL'] ?? '');
  const { credential, publicUrl } = setting;
  const keybearer = await startKeybearer(
    databaseUrl,
    { [SERVER]: { type: 'http', url: serverUrl, credential } },
    publicUrl,
  );
  if (keybearer.publicUrl !== keybearer.url) standInFor(keybearer.publicUrl, keybearer.url);
  try {
    await callThrough(keybearer);
  } catch (error) {
    for (const line of keybearer.lines) process.stderr.write(line);
    throw error;
  } finally {
    await keybearer.stop();
  }
}

async function callThrough(keybearer: RunningKeybearer): Promise<void> {
  const kind = env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === MODERN ? 'sdk2Modern' : 'sdk2Legacy';
  const authorization = `Bearer ${keybearer.agentKey}`;
  const agent = await connectAgent(kind, `${keybearer.url}/mcp`, { authorization });
  const browser = new Browser();
  try {
    for (let signIns = 0; ; signIns++) {
      const result = await ask(agent);
      if (result['isError'] !== true && linkIn(result) === undefined) return;
      const link = linkIn(result);
      if (link === undefined) throw new Error(`The call failed: ${JSON.stringify(result)}`);
      if (signIns === PATIENCE) throw new Error('Another sign-in was asked for');
      const { page, isConnected, request } = await signIn(browser, link);
      console.error(`Sign-in ${signIns + 1}: ${page.status} ${plainText(page.text)}`);
      if (!isConnected) throw new Error('The sign-in failed');
      if (extra === OWN_DOCUMENT) await expectOwnDocument(keybearer, request);
    }
  } finally {
    await agent.close();
  }
}

/** The server's tool where it is offered, else the stand-in that gives the link. */
async function ask(agent: Agent): Promise<JsonObject> {
  const { tools } = await agent.listTools();
  const name = [TOOL, CONNECT].find((wanted) => tools.some((tool) => tool.name === wanted));
  if (name === undefined) throw new Error(`Neither tool is offered: ${tools.map((tool) => tool.name).join(', ')}`);
  const result = await agent.callTool(name);
  if (name === CONNECT && linkIn(result) === undefined) throw new Error(`No link: ${JSON.stringify(result)}`);
  return result;
}

function linkIn({ structuredContent }: JsonObject): string | undefined {
  const url = isObject(structuredContent) ? structuredContent['url'] : undefined;
  return typeof url === 'string' ? url : undefined;
}

/** The suite does not fetch the document that the client id names, so we look at it ourselves. */
async function expectOwnDocument({ publicUrl }: RunningKeybearer, request: URLSearchParams): Promise<void> {
  const clientId = request.get('client_id') ?? 'none';
  if (!clientId.startsWith(`${publicUrl}/oauth/client-metadata`))
    throw new Error(`The client id is ${clientId}, no document at ${publicUrl}`);
  const response = await fetch(clientId, { signal: AbortSignal.timeout(5_000) });
  const document: unknown = await response.json();
  const redirectUris = isObject(document) ? document['redirect_uris'] : undefined;
  const isWhole =
    isObject(document) &&
    document['client_id'] === clientId &&
    Array.isArray(redirectUris) &&
    redirectUris.includes(request.get('redirect_uri'));
  if (!isWhole) throw new Error(`The document does not go with the request: ${JSON.stringify(document)}`);
}

const plainText = (html: string): string =>
  html
    .replace(/^[\s\S]*<body[^>]*>/u, '')
    .replace(/<[^>]*>/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.stack : error);
    process.exit(1);
  },
);
