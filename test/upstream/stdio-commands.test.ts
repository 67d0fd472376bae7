// Which program a command means, and as whom it runs.
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { createStdioDial, type StdioDialDeps } from '../../src/upstream/stdio-dial.ts';
import { resolveCommand } from '../../src/upstream/stdio-resolve.ts';
import { aLog, aServer, call, client, never, none, stdioTransport, textOf } from '../support/stdio/a-stdio-server.ts';

let folder: string;
const inFolder = (path: string): string => join(folder, path);

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'commands-')));
  for (const place of ['good', 'other', 'evil', 'evil/bin', 'empty', 'empty/mcp-files']) await mkdir(inFolder(place));
  for (const place of ['good', 'other', 'evil', 'evil/bin']) {
    await writeFile(inFolder(`${place}/mcp-files`), '#!/bin/sh\nexit 1\n');
    await chmod(inFolder(`${place}/mcp-files`), 0o755);
  }
  await writeFile(inFolder('empty/not-executable'), 'text');
});
afterAll(() => rm(folder, { recursive: true }));

describe('a plain name', () => {
  it('means the first program of that name in the absolute folders of PATH, never one in the working directory (T29)', async () => {
    const before = process.cwd();
    process.chdir(inFolder('evil'));
    try {
      const path = [
        '',
        '.',
        'bin',
        './bin',
        inFolder('missing'),
        inFolder('empty'),
        inFolder('good'),
        inFolder('other'),
      ];
      expect(await resolveCommand('mcp-files', path.join(':'))).toBe(inFolder('good/mcp-files'));
      for (const [command, where] of [
        ['mcp-files', ':.:bin'],
        ['mcp-files', ''],
        ['./mcp-files', inFolder('good')],
        ['bin/mcp-files', inFolder('good')],
        ['../good/mcp-files', inFolder('good')],
        ['not-executable', inFolder('empty')],
      ] as const)
        await expect(resolveCommand(command, where), command).rejects.toMatchObject({
          name: 'NotRunError',
          message: expect.stringContaining('command not found') as string,
        });
    } finally {
      process.chdir(before);
    }
  });

  it('is looked for where the definition says, if it does, and the whole of it is one name (T29)', async () => {
    expect(await resolveCommand('/no/such/program', undefined)).toBe('/no/such/program');
    expect(await resolveCommand('sh', undefined)).toMatch(/^\/(?:usr\/(?:local\/)?)?bin\/sh$/);
    await expect(resolveCommand('sh -c id', undefined)).rejects.toThrow('command not found');
  });
});

describe('arguments', () => {
  it('are given as they are, whatever a shell would make of them (T29)', async () => {
    const odd = ['$(id)', '`id`', '; id', '| id', '*', '~', '"', "'", '\\', '', ' a  b ', '-n', '$HOME', '\n'];
    const dial = createStdioDial({ clock: systemClock, logger: aLog('silent').logger, client, parentEnv: {} });
    const connection = await dial(aServer(stdioTransport('server.mjs', odd)), none, never());
    expect(JSON.parse(textOf(await call(connection, 'argv')))).toEqual(odd);
    await connection.close();
  });
});

// Only root may start a program as somebody else.
describe.runIf(process.getuid?.() === 0)('a proxy that runs as root', () => {
  // The other user may not get to where this Node and this checkout lie.
  beforeAll(async () => {
    await chmod(folder, 0o755);
    await copyFile(process.execPath, inFolder('node'));
    await chmod(inFolder('node'), 0o755);
    await copyFile(new URL('../support/stdio/server.mjs', import.meta.url), inFolder('server.mjs'));
    await chmod(inFolder('server.mjs'), 0o644);
  });

  const start = async (runAs: StdioDialDeps['runAs']) => {
    const log = aLog();
    const parentEnv = { PATH: process.env['PATH'] };
    const dial = createStdioDial({ clock: systemClock, logger: log.logger, client, parentEnv, runAs });
    const transport = {
      ...stdioTransport('server.mjs'),
      command: inFolder('node'),
      args: [inFolder('server.mjs')],
      cwd: '/',
    };
    const connections = [await dial(aServer(transport), none, never()), await dial(aServer(transport), none, never())];
    const user = JSON.parse(textOf(await call(connections[0] as (typeof connections)[0], 'user'))) as unknown;
    await Promise.all(connections.map((connection) => connection.close()));
    return { user, warnings: log.lines.filter(({ msg }) => String(msg).includes('root')).length };
  };

  it('starts commands as another user without its groups, where it is told to (T29)', async () => {
    expect(await start({ uid: 65_534, gid: 65_533 })).toEqual({
      user: { uid: 65_534, gid: 65_533, groups: [65_533] },
      warnings: 0,
    });
  });

  it('and else warns once (T29)', async () => {
    expect(await start(undefined)).toMatchObject({ user: { uid: 0 }, warnings: 1 });
  });
});
