import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Listener, Listeners, type OpenStream } from '../../src/agent/listeners.ts';
import type { Registered, RegistryListener, TenantServers } from '../../src/catalog/registry.ts';
import type { PrincipalId, TenantId } from '../../src/shared/id.ts';
import { ACME, ANNA, aCaller, BEN, ownerKeyOf, settled } from '../catalog/a-tenant.ts';
import { serverOf, URL_ONLY } from '../catalog/read-definition.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';
import { ADoor, until } from './a-door.ts';

const UMBRELLA = 'umbrella' as TenantId;
const server = serverOf(URL_ONLY);
/** The head of the answer has the word as well. */
const ALIVE = '\n: keep-alive\n';

/** What is registered, by owner of a list. */
function servers(lists: Readonly<Record<string, string>>, revision = '1'): TenantServers {
  const all = new Map(
    Object.entries(lists).map(([owner, toolsJson]) => [
      owner,
      { tools: [], dropped: [], foundAt: 0, toolsJson, stamp: '' },
    ]),
  );
  const registered: Registered = {
    server: { ...server, revision },
    source: 'table',
    enabled: true,
    definition: {},
    lists: all,
  };
  return { version: 1, byName: new Map([['linear', registered]]) };
}

class Bench {
  readonly clock = new FakeClock();
  readonly changes = new AChangeFeed();
  readonly interest: (readonly [TenantId, boolean])[] = [];
  readonly listeners: Listeners;
  limits = someLimits();
  readonly welcome = new Set<string>(['anna', 'ben', 'carl']);
  #changed: RegistryListener = () => undefined;
  #door: ADoor | undefined;
  readonly #waiting: ((response: ServerResponse) => void)[] = [];

  constructor() {
    this.listeners = new Listeners({
      registry: { onChange: (listener) => ((this.#changed = listener), () => (this.#changed = () => undefined)) },
      changes: this.changes,
      ownerKeyOf,
      limitsOf: () => this.limits,
      clock: this.clock,
      onInterest: (...change) => this.interest.push(change),
    });
  }

  change(now: TenantServers, before: TenantServers | undefined, tenantId = ACME): void {
    this.#changed(tenantId, now, before);
  }

  async door(): Promise<ADoor> {
    return (this.#door ??= await ADoor.open((_request, response) => this.#waiting.shift()?.(response)));
  }

  async listen(
    principalId: PrincipalId = ANNA,
    tenantId = ACME,
    isDeaf = false,
  ): Promise<{ text: () => string; leave: () => void; resume: () => void; response: ServerResponse } & OpenStream> {
    const door = await this.door();
    const arrived = new Promise<ServerResponse>((resolve) => this.#waiting.push(resolve));
    const ask = 'GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n';
    const { socket, text } = isDeaf ? { socket: door.deaf(ask), text: () => '' } : door.raw(ask);
    const response = await arrived;
    const listener: Listener = {
      caller: aCaller(principalId, tenantId),
      response,
      toolsChanged: 'data: changed\n\n',
      goodbye: 'data: goodbye\n\n',
      mayStay: () => Promise.resolve(this.welcome.has(principalId)),
    };
    const stream = this.listeners.add(listener, ': hello\n\n');
    return { text, leave: () => void socket.destroy(), resume: () => void socket.resume(), ...stream, response };
  }

  async close(): Promise<void> {
    this.listeners.close();
    await this.#door?.close();
  }
}

let bench: Bench;
const open = (): Bench => (bench = new Bench());
afterEach(() => bench.close());

/** Writes until the sockets of both ends take no more; what waits here is less than a listener may leave unread. */
async function stuffed(response: ServerResponse): Promise<void> {
  for (let still = 0; still < 50; ) {
    if (response.writableLength < 400_000) response.write('x'.repeat(500_000));
    const before = response.writableLength;
    await new Promise(setImmediate);
    still = response.writableLength === before ? still + 1 : 0;
  }
}

const count = (text: string, what: string): number => text.split(what).length - 1;
const heard = (stream: { text: () => string }): Promise<void> =>
  until(() => stream.text().includes('changed'), 'the notice');

describe('a change of lists', () => {
  it("is told to everybody of the tenant when it is everybody's list, and to no other tenant", async () => {
    const { listeners } = open();
    const [anna, ben, stranger] = [
      await bench.listen(ANNA),
      await bench.listen(BEN),
      await bench.listen(ANNA, UMBRELLA),
    ];
    bench.change(servers({ '': '[1]' }), servers({ '': '[0]' }));
    await Promise.all([heard(anna), heard(ben)]);
    bench.clock.advance(25_000);
    await until(() => stranger.text().includes(ALIVE), 'a sign of life');
    expect(stranger.text()).not.toContain('changed');
    expect(listeners.size).toBe(3);
  });

  it('B225: is told to one person alone when it is their own list', async () => {
    open();
    const [anna, ben] = [await bench.listen(ANNA), await bench.listen(BEN)];
    bench.change(servers({ 'p:anna': '[1]', 'p:ben': '[0]' }), servers({ 'p:anna': '[0]', 'p:ben': '[0]' }));
    await heard(anna);
    bench.clock.advance(25_000);
    await until(() => ben.text().includes(ALIVE), 'a sign of life');
    expect(ben.text()).not.toContain('changed');
  });

  it.each([
    ['a server was edited', servers({}, '2'), servers({}, '1')],
    ['a server came', servers({}), { version: 0, byName: new Map() }],
    ['a server went', { version: 2, byName: new Map() }, servers({})],
    ['a first list came', servers({ '': '[]' }), servers({})],
  ])('is told when %s', async (_, now, before) => {
    open();
    const anna = await bench.listen();
    bench.change(now, before);
    await heard(anna);
  });

  it('is told when there was one, not when something was read for the first time', async () => {
    open();
    const anna = await bench.listen();
    bench.change(servers({ '': '[1]' }), undefined);
    bench.change(servers({ '': '[1]' }), servers({ '': '[1]' }));
    bench.clock.advance(25_000);
    await until(() => anna.text().includes(ALIVE), 'a sign of life');
    expect(anna.text()).not.toContain('changed');
  });
});

describe('a stream', () => {
  it('B011, B307: is kept alive each 25 seconds, and says at once that it is one', async () => {
    open();
    const anna = await bench.listen();
    await until(() => anna.text().includes(': hello'), 'the greeting');
    expect(anna.text()).toMatch(
      /content-type: text\/event-stream\r\nx-content-type-options: nosniff\r\ncache-control: no-store, no-transform\r\nx-accel-buffering: no/i,
    );
    for (let n = 1; n <= 3; n++) {
      bench.clock.advance(25_000);
      await until(() => count(anna.text(), ALIVE) === n, `sign of life ${n}`);
    }
  });

  it('is forgotten when its agent leaves; the last one ends the interest in the tenant', async () => {
    const { listeners, interest } = open();
    const [anna, ben] = [await bench.listen(ANNA), await bench.listen(BEN)];
    expect(listeners.isListening(ACME)).toBe(true);
    anna.leave();
    await until(() => listeners.size === 1, 'the first to be gone');
    expect(interest).toEqual([[ACME, true]]);
    ben.leave();
    await until(() => listeners.size === 0, 'the second to be gone');
    expect(interest).toEqual([
      [ACME, true],
      [ACME, false],
    ]);
    expect(listeners.isListening(ACME)).toBe(false);
    const again = await bench.listen();
    expect(interest.at(-1)).toEqual([ACME, true]);
    again.leave();
  });

  it('ends by the protocol when we end it', async () => {
    const { listeners } = open();
    const [one, two] = [await bench.listen(ANNA), await bench.listen(BEN)];
    one.end();
    await until(() => one.text().includes('goodbye'), 'the goodbye');
    expect(listeners.size).toBe(1);
    listeners.close();
    await until(() => two.text().includes('goodbye'), 'the other goodbye');
    expect(bench.clock.pending).toBe(0);
    expect(bench.changes.listeners).toBe(0);
  });

  it('of an agent that reads nothing is dropped, and the others are not held up', async () => {
    const { listeners } = open();
    const slow = await bench.listen(ANNA, ACME, true);
    const quick = await bench.listen(BEN);
    // More than the sockets of both ends take in, and then more than may wait here.
    while (slow.response.writableLength < 1_100_000) slow.response.write('x'.repeat(500_000));
    bench.change(servers({ '': '[1]' }), servers({ '': '[0]' }));
    await until(() => listeners.size === 1, 'the slow one to be dropped');
    await heard(quick);
  });

  it('that was ended and not read to its end troubles nobody: no write, no second end', async () => {
    const { listeners } = open();
    const slow = await bench.listen(ANNA, ACME, true);
    const failures: unknown[] = [];
    slow.response.on('error', (error) => failures.push(error));
    await stuffed(slow.response);
    bench.welcome.delete('anna');
    for (let n = 0; n < 3; n++) {
      bench.clock.advance(25_000);
      await settled();
    }
    bench.change(servers({ '': '[1]' }), servers({ '': '[0]' }));
    listeners.close();
    listeners.close();
    slow.end();
    await settled();
    expect(failures).toEqual([]);
    expect(slow.response.writableEnded).toBe(true);
  });
});

describe('a stream whose sender is not known any more', () => {
  it.each(['agent_keys', 'issuers', 'tenants'] as const)(
    'ends with the notice of changed %s, and only where it has to',
    async (kind) => {
      open();
      const [anna, ben] = [await bench.listen(ANNA), await bench.listen(BEN)];
      bench.welcome.delete('anna');
      bench.changes.say({ kind, tenantId: UMBRELLA });
      bench.changes.say({ kind: 'servers', tenantId: ACME, serverId: 'x' });
      await settled();
      expect(anna.text()).not.toContain('goodbye');
      bench.changes.say({ kind, tenantId: ACME });
      await until(() => anna.text().includes('goodbye'), 'the goodbye');
      expect(ben.text()).not.toContain('goodbye');
    },
  );

  it('ends at the next sign of life at the latest: a token that expires makes no notice', async () => {
    open();
    const anna = await bench.listen();
    bench.welcome.delete('anna');
    bench.clock.advance(25_000);
    await until(() => anna.text().includes('goodbye'), 'the goodbye');
  });
});
