import { describe, expect, it } from 'vitest';
import { createLoadServers } from '../../src/catalog/load-servers.ts';
import type { OperatorFile } from '../../src/catalog/operator-file.ts';
import type { LoadedServer } from '../../src/catalog/registry.ts';
import type { ServerRow } from '../../src/catalog/server-store.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { ACME } from './a-tenant.ts';

const URL_ONLY = { url: 'https://a.test/mcp' };
const CANARY = 'canary-8d1f';

function aRow(name: string, definition: unknown = URL_ONLY, rest: Partial<ServerRow> = {}): ServerRow {
  return { tenantId: ACME, id: `id-of-${name}` as ServerId, name, definition, enabled: true, revision: '1', ...rest };
}

class Bench {
  rows: ServerRow[] = [];
  file: OperatorFile | undefined;
  readonly lines: string[] = [];
  storeFails = false;
  gated: unknown;

  readonly load = createLoadServers({
    store: {
      list: (tenantId) => Promise.resolve(this.rows.filter((row) => row.tenantId === tenantId)),
      replaceDefinition: (row, definition) => {
        if (this.storeFails) return Promise.reject(new Error('no database'));
        const at = this.rows.findIndex(({ id, revision }) => id === row.id && revision === row.revision);
        if (at >= 0) this.rows[at] = { ...row, definition, revision: String(Number(row.revision) + 1) };
        return Promise.resolve(at >= 0);
      },
    },
    // Sealed texts say where they were sealed, so that one moved elsewhere is seen.
    secretsOf: (tenantId, serverName) => ({
      seal: (path, value) =>
        Promise.resolve(Buffer.from(JSON.stringify([tenantId, serverName, path, value])).toString('base64')),
      open: (path, sealed) => {
        const [tenant, server, where, value] = JSON.parse(Buffer.from(sealed, 'base64').toString()) as string[];
        return tenant === tenantId && server === serverName && where === path
          ? Promise.resolve(value ?? '')
          : Promise.reject(new Error('moved'));
      },
    }),
    gatedDefault: (tenantId) => Promise.resolve(tenantId === ACME ? this.gated : undefined),
    file: () => this.file,
    defaults: {
      defaultIdleTimeoutMs: 12_345,
      addressRule: (url) => (url.includes('inner.test') || url.startsWith('https:') ? undefined : 'is not allowed'),
    },
    logger: createLogger('debug', { write: (line) => void this.lines.push(line) }),
  });

  async one(name: string): Promise<LoadedServer['server'] & { problems?: unknown }> {
    const found = (await this.load(ACME)).find(({ server }) => server.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found.server;
  }
}

describe('rows of the table', () => {
  it("become servers, with the installation's defaults", async () => {
    const bench = new Bench();
    bench.rows = [
      aRow('linear'),
      aRow('inner', { url: 'http://inner.test/mcp', credential: { kind: 'secret' } }),
      aRow('other', { url: 'http://other.test/mcp', credential: { kind: 'secret' } }),
    ];
    expect(await bench.one('linear')).toMatchObject({
      name: 'linear',
      id: 'id-of-linear',
      revision: '1',
      source: 'table',
      idleTimeoutMs: 12_345,
    });
    expect(await bench.one('inner')).not.toHaveProperty('problems');
    expect(await bench.one('other')).toHaveProperty('problems');
  });

  it('are those of the tenant alone', async () => {
    const bench = new Bench();
    bench.rows = [aRow('linear'), aRow('theirs', URL_ONLY, { tenantId: 'umbrella' as TenantId })];
    expect((await bench.load(ACME)).map(({ server }) => server.name)).toEqual(['linear']);
  });

  it.each([
    ['no object', 7],
    ['null', null],
    ['a text', 'https://a.test'],
    ['an unknown type', { type: 'gopher' }],
    ['a command, which only the operator may give', { command: 'sh' }],
    ['a literal secret at a place of its own and no url', { headers: { 'x-key': CANARY } }],
  ])('that hold %s trouble no other', async (_, definition) => {
    const bench = new Bench();
    bench.rows = [aRow('wrong', definition), aRow('linear')];
    expect(await bench.one('wrong')).toMatchObject({
      name: 'wrong',
      problems: expect.arrayContaining([expect.anything()]),
    });
    expect(await bench.one('linear')).not.toHaveProperty('problems');
  });

  it('that are switched off stay off, whatever the definition says', async () => {
    const bench = new Bench();
    bench.rows = [
      aRow('a', { ...URL_ONLY, enabled: true }, { enabled: false }),
      aRow('b', { ...URL_ONLY, enabled: false }),
    ];
    expect([await bench.one('a'), await bench.one('b')]).toMatchObject([{ enabled: false }, { enabled: false }]);
  });
});

describe('literal secrets written by hand', () => {
  const definition = { ...URL_ONLY, headers: { 'x-key': CANARY } };

  it('are sealed where they stand, and serve at once', async () => {
    const bench = new Bench();
    bench.rows = [aRow('linear', definition)];
    for (let n = 0; n < 2; n++) {
      const server = await bench.one('linear');
      if (!('transport' in server) || server.transport.kind === 'stdio') throw new Error('not over http');
      expect(server.transport.headers.get('x-key')?.reveal()).toBe(CANARY);
    }
    expect(JSON.stringify(bench.rows)).not.toContain(CANARY);
    expect(bench.rows[0]).toMatchObject({
      revision: '2',
      definition: { headers: { 'x-key': { sealed: expect.any(String) } } },
    });
  });

  it('that cannot be sealed now still serve, and the log does not show them', async () => {
    const bench = new Bench();
    bench.storeFails = true;
    bench.rows = [aRow('linear', definition)];
    expect(await bench.one('linear')).not.toHaveProperty('problems');
    expect(bench.lines.join()).toContain('not sealed');
    expect(bench.lines.join()).not.toContain(CANARY);
  });

  it('sealed for another server do not open here: the row is invalid and says what to do', async () => {
    const bench = new Bench();
    bench.rows = [aRow('linear', definition)];
    await bench.load(ACME);
    bench.rows = [{ ...(bench.rows[0] as ServerRow), name: 'copy', id: 'id-of-copy' as ServerId }, aRow('other')];
    expect(await bench.one('copy')).toMatchObject({
      problems: [{ path: '$', message: 'A sealed value could not be opened; register the server again.' }],
    });
    expect(await bench.one('other')).not.toHaveProperty('problems');
  });
});

describe("the operator's file", () => {
  const servers = [{ name: 'fs', definition: { command: 'mcp-fs' } }];

  it('belongs to its tenant, and may hold commands', async () => {
    const bench = new Bench();
    bench.file = { tenant: ACME, servers };
    expect(await bench.one('fs')).toMatchObject({ source: 'file', transport: { kind: 'stdio' }, enabled: true });
    expect(await bench.load('umbrella' as TenantId)).toEqual([]);
  });

  it('B067: stands before a row of the same name', async () => {
    const bench = new Bench();
    bench.file = { tenant: ACME, servers };
    bench.rows = [aRow('fs')];
    expect((await bench.load(ACME)).map(({ server, source }) => [server.name, source])).toEqual([['fs', 'file']]);
  });

  it('gives every node the same id, and a new revision when it says something else', async () => {
    const [one, other] = [new Bench(), new Bench()];
    for (const bench of [one, other]) bench.file = { tenant: ACME, servers };
    const first = await one.one('fs');
    expect(await other.one('fs')).toMatchObject({ id: first.id, revision: first.revision });
    one.file = { tenant: ACME, servers: [{ name: 'fs', definition: { command: 'mcp-fs', args: ['/tmp'] } }] };
    const second = await one.one('fs');
    expect(second.id).toBe(first.id);
    expect(second.revision).not.toBe(first.revision);
  });

  it('with a definition that does not hold names its problems', async () => {
    const bench = new Bench();
    bench.file = { tenant: ACME, servers: [{ name: 'bad', definition: { command: 7 } }] };
    expect(await bench.one('bad')).toMatchObject({ problems: [{ path: '$.command' }] });
  });
});

describe('what the tenant gates', () => {
  const gatedOf = async (bench: Bench, name: string): Promise<unknown> => {
    const server = await bench.one(name);
    return 'gated' in server ? server.gated : 'invalid';
  };

  it("holds for every server that does not say itself, also of the operator's file", async () => {
    const bench = new Bench();
    bench.gated = 'destructive';
    bench.file = { tenant: ACME, servers: [{ name: 'fs', definition: { command: 'mcp-fs' } }] };
    bench.rows = [
      aRow('a'),
      aRow('b', { ...URL_ONLY, gated: false }),
      aRow('c', { ...URL_ONLY, gated: ['create_*'] }),
      aRow('d', 7),
    ];
    expect(await Promise.all(['fs', 'a', 'b', 'c', 'd'].map((name) => gatedOf(bench, name)))).toEqual([
      'destructive',
      'destructive',
      false,
      ['create_*'],
      'invalid',
    ]);
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    [false, undefined],
    [true, true],
    [['create_*'], ['create_*']],
    ['not-read-only', 'not-read-only'],
    // It was meant to hold something back.
    ['nonsense', true],
    [7, true],
    [[7], true],
  ])('is nothing when nothing is said, and everything when it cannot be read: %j', async (gated, expected) => {
    const bench = new Bench();
    bench.gated = gated;
    bench.rows = [aRow('a')];
    expect(await gatedOf(bench, 'a')).toEqual(expected);
  });
});
