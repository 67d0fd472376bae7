import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/connection/connection.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { Secret } from '../../src/shared/secret.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import { isJsonObject } from '../../src/wire/reply.ts';
import { aLog, aServer, call, client, never, none, textOf } from '../support/stdio/a-stdio-server.ts';

const require = createRequire(import.meta.url);
let folder: string;
let connection: Connection | undefined;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'peers-')));
});
afterEach(async () => {
  await connection?.close();
  await rm(folder, { recursive: true });
});

async function dialed(name: string, args: string[] = [], env: Record<string, string> = {}): Promise<Connection> {
  const manifest = require.resolve(`@modelcontextprotocol/${name}/package.json`);
  const secrets = new Map(Object.entries(env).map(([key, value]) => [key, new Secret(value)]));
  const transport = {
    kind: 'stdio',
    command: process.execPath,
    args: [join(manifest, '..', 'dist', 'index.js'), ...args],
    env: secrets,
    cwd: folder,
  } as const;
  const dial = createStdioDial({
    clock: systemClock,
    logger: aLog('silent').logger,
    client,
    parentEnv: { PATH: process.env['PATH'] },
  });
  connection = await dial(aServer(transport), none, never());
  return connection;
}

async function toolNames(of: Connection): Promise<unknown[]> {
  const result = (await of.request({ method: 'tools/list', params: undefined, signal: never() })).payload();
  const tools = isJsonObject(result) && Array.isArray(result['tools']) ? (result['tools'] as unknown[]) : [];
  return tools.map((tool) => (isJsonObject(tool) ? tool['name'] : undefined));
}

describe('published servers, as independent peers', () => {
  it('server-everything lists its tools and echoes', async () => {
    const peer = await dialed('server-everything', ['stdio']);
    expect(await toolNames(peer)).toContain('echo');
    expect(textOf(await call(peer, 'echo', { message: 'hi' }))).toContain('hi');
  });

  it('server-memory lists its tools and reads its graph', async () => {
    const peer = await dialed('server-memory', [], { MEMORY_FILE_PATH: join(folder, 'memory.json') });
    expect(await toolNames(peer)).toContain('read_graph');
    expect(textOf(await call(peer, 'read_graph'))).toContain('entities');
  });

  it('server-filesystem lists its tools and reads a file', async () => {
    await writeFile(join(folder, 'note.txt'), 'written down');
    const peer = await dialed('server-filesystem', [folder]);
    expect(await toolNames(peer)).toContain('read_text_file');
    expect(textOf(await call(peer, 'read_text_file', { path: join(folder, 'note.txt') }))).toBe('written down');
  });
});
