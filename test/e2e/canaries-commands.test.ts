// T23, T24: the key in a command's environment, and what the operator's file keeps secret there, are nowhere, also when
// the command ends with them on its lips.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type OperatorFile, parseOperatorFile } from '../../src/catalog/operator-file.ts';
import { eventually } from '../store/eventually.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { type TenantSide, useScene } from '../support/scene.ts';
import { linkIn, openLink, postKey } from '../support/sign-in.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { writtenForms } from '../support/written-forms.ts';
import { expectNowhere } from './canary-places.ts';

const server = fileURLToPath(new URL('../support/stdio/server.mjs', import.meta.url));
/** What the proxy itself has in its environment. */
const parentEnv = { PATH: process.env['PATH'], DATABASE_URL: 'postgres://u:parent-canary-2d90@db.example/x' };
let file: OperatorFile | undefined;
const scene = useScene({ operatorFile: () => file, parentEnv });

const SECRETS = {
  key: 'sk_live+7f/9a"Qz-in-a-variable',
  token: 'file-token-8e21-canary"+',
  parent: 'parent-canary-2d90',
};
/** All that it knows. */
const SAID = [SECRETS.key, SECRETS.token].flatMap(writtenForms);
/** The same worked out by the command itself: its arguments are no secrets. */
const FORMS = `const forms = [process.env.API_KEY, process.env.SERVICE_TOKEN].flatMap((text) => [text, JSON.stringify(text),
  encodeURIComponent(text), ...['hex', 'base64', 'base64url'].map((form) => Buffer.from(text).toString(form))]);`;

async function withCommand(tenant: TenantSide, command: JsonObject): Promise<void> {
  const credential = { owner: 'principal', kind: 'secret', env: 'API_KEY' };
  const local = { command: process.execPath, env: { SERVICE_TOKEN: SECRETS.token }, credential, ...command };
  const read = parseOperatorFile(JSON.stringify({ tenant: tenant.id, mcpServers: { local } }), {});
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  file = read.file;
  await scene.app.refresh(tenant.id);
}

/** All that comes back, the stream beside the answer. */
async function told(agent: RawAgent, tool: string, args: JsonObject): Promise<string> {
  const response = await agent.send('tools/call', { name: `local__${tool}`, arguments: args });
  const answer = JSON.stringify(await response.answer().catch(String));
  return [answer, ...(response.stream?.events.map(({ data }) => data) ?? [])].join('\n');
}

const hasLogged = (words: string) => (): boolean => scene.app.lines.some((line) => line.includes(words));

describe('a key in the environment of a command', () => {
  it('is nowhere when the command prints all it has, dies in a call, or is too slow', async () => {
    const tenant = await scene.tenant();
    await withCommand(tenant, { args: [server], timeoutMs: 500 });
    const agent = await tenant.raw('rawLegacy');
    const link = linkIn(await agent.callTool('local__connect'));
    const seen = [(await openLink(link)).text, (await postKey(link, SECRETS.key)).text];
    await eventually('the tools of the command', async () =>
      (await agent.listTools()).tools.some(({ name }) => name === 'local__env'),
    );
    seen.push(await told(agent, 'env', {}));
    expect(seen.join()).toContain('[secret]');
    expect(seen.join(), 'the command has the environment that it is given').not.toContain('DATABASE_URL');
    for (const [tool, args] of [
      ['complain', { lines: SAID }],
      ['stray', { line: SAID.join(' ') }],
      ['hang', {}],
      ['crash', { lines: SAID }],
    ] as const)
      seen.push(await told(agent, tool, args));
    expect(seen.at(-2)).toContain('upstream_timeout');
    expect(seen.at(-1)).toContain('"isError":true');
    await eventually('the log to have it', hasLogged('[secret]'));
    await eventually('the log to have its last words', hasLogged('Error: '));
    await expectNowhere(scene.app, SECRETS, { tenant: tenant.id, servers: ['local'], seen });
  });

  it.each([
    ['throws it', "throw new Error(forms.join('\\n'))"],
    [
      'says it in every form on both streams, and ends well',
      'for (const form of forms) { console.error(form); console.log(form) }',
    ],
    [
      'answers the greeting with it',
      `process.stdin.on('data', (line) => {
        console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error: { code: -32000, message: forms.join() } }))
      })`,
    ],
    ['says one endless line of it', 'process.stderr.write(forms.join().repeat(2_000)); process.exitCode = 4'],
  ])('is nowhere when the command does not get as far as its tools: it %s', async (_, script) => {
    const tenant = await scene.tenant();
    await withCommand(tenant, { args: ['-e', FORMS + script], connectTimeoutMs: 2_000 });
    const agent = await tenant.raw('rawLegacy');
    const link = linkIn(await agent.callTool('local__connect'));
    const pasting = await postKey(link, SECRETS.key);
    expect(pasting.status).toBe(422);
    const before = scene.app.lines.length;
    await tenant.setSecret('local', 'ada', SECRETS.key);
    const seen = [pasting.text, JSON.stringify(await agent.listTools()), await told(agent, 'connect', {})];
    await eventually('the failure to be logged', () => scene.app.lines.length > before);
    await expectNowhere(scene.app, SECRETS, { tenant: tenant.id, servers: ['local'], seen });
  });
});
