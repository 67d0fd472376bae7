// The operator's file: the only place for commands, read again on change, and read-only in the API.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OperatorFile, parseOperatorFile } from '../../src/catalog/operator-file.ts';
import { watchOperatorFile } from '../../src/catalog/operator-file-watch.ts';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Scene } from '../support/scene.ts';
import { within } from '../support/within.ts';

const command = fileURLToPath(new URL('../support/stdio/server.mjs', import.meta.url));
const stdio = { command: process.execPath, args: [command] };

let file: OperatorFile | undefined;
const scene = new Scene({ operatorFile: () => file });
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'keybearer-file-'));
  await scene.begin();
});
afterAll(async () => {
  await scene.end();
  await rm(dir, { recursive: true, force: true });
});

it('registers commands, is followed on change, and cannot be changed by the API', async () => {
  const path = join(dir, 'servers.json');
  const write = (mcpServers: unknown) => writeFile(path, `// ours\n${JSON.stringify({ tenant: 'acme', mcpServers })}`);
  await write({ local: stdio });
  const watch = await watchOperatorFile({
    path,
    parse: (text) => parseOperatorFile(text, {}),
    clock: new FakeClock(),
    onChange: (result) => {
      if (result.ok) file = result.file;
      void scene.app.refresh('acme');
    },
  });
  scene.later(() => Promise.resolve(watch.close()));
  if (watch.first.ok) file = watch.first.file;
  await scene.app.tenant('acme');
  const side = scene.side('acme', await scene.app.agentKey('acme'));
  const agent = await side.raw('rawModern');
  const names = async () => (await within(agent.listTools(), 'the list')).tools.map(({ name }) => name);
  await eventually('the tools of the command', async () => (await names()).includes('local__echo'));
  expect(textOf(await agent.callTool('local__echo', { value: 'é' }))).toBe('é');
  expect(await side.status('local')).toMatchObject({ source: 'file' });
  const at = '/tenants/acme/servers';
  expect((await scene.app.admin('PUT', `${at}/local`, { url: 'https://x.example/mcp' })).status).toBe(409);
  expect((await scene.app.admin('DELETE', `${at}/local`)).status).toBe(409);
  expect((await scene.app.admin('PUT', `${at}/other`, stdio)).status, 'a command comes from the file alone').toBe(422);

  const upstream = await scene.open('legacy');
  await write({ remote: { url: upstream.url } });
  await watch.check();
  await eventually('the new server', async () => (await names()).includes('remote__whoami'));
  expect((await names()).filter((name) => name.startsWith('local__'))).toEqual([]);
  await writeFile(path, '{ broken');
  await watch.check();
  expect(await names(), 'the last good reading stays').toContain('remote__whoami');

  const other = await scene.tenant();
  expect((await (await other.raw('rawModern')).listTools()).tools).toEqual([]);
});
