// A command gets its token at its start and cannot be given another, so a new token means a new process.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OperatorFile, parseOperatorFile } from '../../src/catalog/operator-file.ts';
import { eventually } from '../store/eventually.ts';
import { type Agent, textOf } from '../support/agents/agent.ts';
import { Scene } from '../support/scene.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';

const script = fileURLToPath(new URL('../support/stdio/server.mjs', import.meta.url));
const RESOURCE = 'https://notes.example';

let file: OperatorFile | undefined;
const scene = new Scene({ operatorFile: () => file });
beforeAll(() => scene.begin());
afterAll(() => scene.end());

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** The process that serves this agent now, and the token it was started with. */
async function childOf(agent: Agent): Promise<{ readonly pid: number; readonly token: string }> {
  // Backwards: as it is, it is masked on its way.
  const backwards = textOf(await agent.callTool('notes__sdrawkcab', { name: 'NOTES_TOKEN' }));
  const token = [...backwards].reverse().join('');
  return { pid: Number(textOf(await agent.callTool('notes__pid'))), token };
}

it('a command is started anew for a new token and for a renewed one, and its running call ends first (B220)', async () => {
  const as = await scene.keep(startScriptedAs({ rotation: 'strict' }));
  as.addClient({ clientId: 'by-hand' });
  const [authorizationEndpoint, tokenEndpoint] = [`${as.issuer}/authorize`, `${as.issuer}/token`];
  const oauth = { clientId: 'by-hand', issuer: as.issuer, authorizationEndpoint, tokenEndpoint, resource: RESOURCE };
  const notes = {
    command: process.execPath,
    args: [script],
    credential: { owner: 'principal', kind: 'oauth', env: 'NOTES_TOKEN', oauth },
  };
  const read = parseOperatorFile(JSON.stringify({ tenant: 'acme', mcpServers: { notes } }), {});
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  file = read.file;
  await scene.app.tenant('acme');
  const side = scene.side('acme', await scene.app.agentKey('acme'));
  const agent = await side.raw('rawModern', 'ada');
  const connect = async (expiresIn: number) => {
    const { accessToken, refreshToken } = as.issue({ subject: 'ada', resource: RESOURCE });
    const path = '/tenants/acme/servers/notes/credentials/ada';
    await scene.app.adminOk('PUT', path, { oauth: { accessToken, refreshToken, expiresIn } });
    return accessToken;
  };
  const isGone = ({ pid }: { readonly pid: number }) => eventually('the old process to end', () => !isAlive(pid));

  const first = await connect(3_600);
  await agent.listTools();
  const one = await childOf(agent);
  expect(one.token).toBe(first);

  const leaving = new AbortController();
  const running = agent.callTool('notes__hang', {}, { signal: leaving.signal }).catch(() => 'left');
  const second = await connect(3_600);
  const two = await childOf(agent);
  expect(two).toMatchObject({ token: second });
  expect(two.pid).not.toBe(one.pid);
  expect(isAlive(one.pid), 'its call is still running').toBe(true);
  leaving.abort();
  await running;
  await isGone(one);

  const third = await connect(0);
  const three = await childOf(agent);
  expect([first, second, third]).not.toContain(three.token);
  expect(as.check(three.token)).toMatchObject({ subject: 'ada' });
  await isGone(two);
  expect((await childOf(agent)).pid, 'and stays while its token is good').toBe(three.pid);
  expect(as.revocations).toBe(0);
});
