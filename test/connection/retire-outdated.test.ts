import { describe, expect, it } from 'vitest';
import type { Registered, RegistryListener, TenantServers } from '../../src/catalog/registry.ts';
import type { InvalidServer, UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { retireOutdated } from '../../src/connection/retire-outdated.ts';
import type { Change } from '../../src/shared/changes.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { aServer, keyOf, NEVER, PoolBench, settled, tenantKey } from './support.ts';

const server = aServer();

class Bench extends PoolBench {
  /** The credential's version in the database. */
  version: string | undefined;
  readonly stop: () => void;
  #onChange: RegistryListener | undefined;
  #onNotice: ((change: Change) => void) | undefined;

  constructor() {
    super();
    this.stop = retireOutdated({
      pool: this.pool,
      registry: { onChange: (listener) => ((this.#onChange = listener), () => (this.#onChange = undefined)) },
      changes: { subscribe: (listener) => ((this.#onNotice = listener), () => (this.#onNotice = undefined)) },
      versionOf: () => Promise.resolve(this.version),
      logger: createLogger('silent'),
    });
  }

  registered(...servers: (UpstreamServer | InvalidServer)[]): void {
    const all = servers.map((one): [string, Registered] => [
      one.name,
      { server: one, source: 'table', enabled: true, definition: {}, lists: new Map() },
    ]);
    const now: TenantServers = { version: 1, byName: new Map(all) };
    this.#onChange?.(server.tenantId, now, undefined);
  }

  notice(change: Change): void {
    this.#onNotice?.(change);
  }

  async open(credential = keyOf('anna')): Promise<void> {
    this.pool.release(await this.pool.acquire(server, credential, NEVER));
  }
}

describe('a connection of an outdated definition', () => {
  it.each([
    ['was removed', []],
    ['was edited', [{ ...server, revision: '2' }]],
    ['was switched off', [{ ...server, enabled: false }]],
    [
      'does not hold any more',
      [{ tenantId: server.tenantId, id: server.id, name: server.name, revision: server.revision, problems: [] }],
    ],
    ['was removed and made anew under its name', [aServer({}, { id: 'another' })]],
  ])('ends when its server %s', async (_, now) => {
    const bench = new Bench();
    await bench.open();
    bench.registered(...now);
    expect(bench.live).toBe(0);
  });

  it('B280: also while it is being opened', async () => {
    const bench = new Bench();
    bench.dialsAtOnce = false;
    const opening = bench.open();
    await settled();
    bench.registered();
    await expect(opening).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect(bench.live).toBe(0);
  });

  it('stays when something else changed', async () => {
    const bench = new Bench();
    await bench.open();
    bench.registered(server, aServer({}, { name: 'other' }));
    expect(bench.live).toBe(1);
  });
});

describe('a connection of an outdated credential', () => {
  const changed = (owner: string): Change => ({
    kind: 'credentials',
    tenantId: server.tenantId,
    serverId: server.id,
    owner,
  });

  it("ends with the notice, and only its owner's", async () => {
    const bench = new Bench();
    for (const credential of [keyOf('anna'), keyOf('ben'), tenantKey()]) await bench.open(credential);
    bench.notice(changed('p:anna'));
    await settled();
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([true, false, false]);
    bench.notice(changed(''));
    await settled();
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([true, false, true]);
  });

  it('stays when it carries the version that is in the database', async () => {
    const bench = new Bench();
    await bench.open(keyOf('anna', '1'));
    await bench.open(keyOf('anna', '2'));
    bench.version = '2';
    bench.notice(changed('p:anna'));
    await settled();
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it('lets a dial under way go on: it may carry the new one already', async () => {
    const bench = new Bench();
    bench.dialsAtOnce = false;
    const opening = bench.open(keyOf('anna', '2'));
    await settled();
    bench.notice(changed('p:anna'));
    bench.dials[0]?.succeed();
    await opening;
    expect(bench.live).toBe(1);
  });

  it('is not looked for any more after the stop', async () => {
    const bench = new Bench();
    await bench.open();
    bench.stop();
    bench.notice(changed('p:anna'));
    bench.registered();
    expect(bench.live).toBe(1);
  });
});
