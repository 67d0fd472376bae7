import { describe, expect, it } from 'vitest';
import { type Catalog, createCatalog, type Scope } from '../../src/catalog/catalog.ts';
import { createDiscovery, type Discovery } from '../../src/catalog/discovery.ts';
import type { View } from '../../src/catalog/view.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import type { PrincipalId, TenantId } from '../../src/shared/id.ts';
import { aCaller, ACME, ANNA, ATenant, aTool, BEN, ownerKeyOf, settled } from './a-tenant.ts';
import { parsedPage, SELF, toolsIn } from './a-view.ts';

const ALL: Scope = { only: undefined };
const NEVER = new AbortController().signal;
const PERSONAL = { credential: { kind: 'secret' } };
const DOWN = new ProxyError('upstream_unavailable', 'The server cannot be reached.');

type Reply = readonly object[] | Error | 'silence';

class Bench extends ATenant {
  readonly catalog: Catalog;
  readonly discovery: Discovery;
  /** What a server says when it is asked for its tools. */
  readonly replies = new Map<string, Reply>();
  readonly signedIn = new Set<string>();
  asked: (readonly [string, PrincipalId | undefined])[] = [];
  credentialsFail = false;

  constructor() {
    super();
    this.discovery = createDiscovery({
      source: (server, principalId) => {
        this.asked.push([server.name, principalId]);
        const reply = this.replies.get(server.name) ?? [];
        if (reply === 'silence') return new Promise(() => undefined);
        return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
      },
      registry: this.registry,
      clock: this.clock,
      logger: this.logger,
      random: () => 0,
    });
    this.catalog = createCatalog({
      registry: this.registry,
      discovery: this.discovery,
      hasCredential: (server, principalId) => {
        if (this.credentialsFail) throw new Error('no database');
        return this.signedIn.has(`${server.name} ${principalId}`);
      },
      ownerKeyOf,
      self: SELF,
      listDeadlineMs: 5_000,
      clock: this.clock,
    });
  }

  serve(name: string, reply: Reply, definition: object = {}): void {
    this.define(name, definition);
    this.replies.set(name, reply);
  }

  async view(caller: Caller = aCaller(), scope = ALL): Promise<View> {
    const view = await this.catalog.view(caller, scope, NEVER);
    if (view === undefined) throw new Error('the scope names nothing');
    return view;
  }

  async tools(caller?: Caller, scope?: Scope): Promise<readonly string[]> {
    return toolsIn(await this.view(caller, scope));
  }

  async states(caller?: Caller): Promise<Readonly<Record<string, string>>> {
    const meta = parsedPage((await this.view(caller)).page(undefined))['_meta'] as { 'keybearer/servers': Record<string, { state: string }> };
    return Object.fromEntries(Object.entries(meta['keybearer/servers']).map(([name, { state }]) => [name, state]));
  }
}

describe('the tools of a caller', () => {
  it('are those of all servers, each with its name before its own', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search'), aTool('create')]);
    bench.serve('github', [aTool('search')]);
    expect(await bench.tools()).toEqual(['github__search', 'linear__create', 'linear__search']);
  });

  it('come from memory the second time: nobody is asked and nothing is built', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    const view = await bench.view();
    expect(await bench.view()).toBe(view);
    expect(await bench.view(aCaller(BEN))).toBe(view);
    expect(bench.asked).toHaveLength(1);
  });

  it('on one server\'s own path have their own names, and a path that names nothing has none', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    bench.serve('github', [aTool('fork')]);
    expect(await bench.tools(aCaller(), { only: 'linear' })).toEqual(['search']);
    for (const only of ['nothing', '', 'Linear', '__proto__']) expect(await bench.catalog.view(aCaller(), { only }, NEVER)).toBeUndefined();
  });

  it('leave out servers that are switched off', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')], { enabled: false });
    expect(await bench.tools()).toEqual([]);
    expect(await bench.catalog.view(aCaller(), { only: 'linear' }, NEVER)).toBeUndefined();
    expect(bench.catalog.status(ACME, 'linear').state).toBe('disabled');
  });

  it('B225: are never those of another tenant', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    await bench.view();
    const stranger = aCaller(ANNA, 'umbrella' as TenantId);
    expect(toolsIn(await bench.view(stranger))).toEqual([]);
    expect(await bench.catalog.find(stranger, ALL, 'linear__search', NEVER)).toBeUndefined();
  });

  it('are gated by what the tenant says now, not by what it said when the list was built', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    await bench.view();
    bench.gated = true;
    await bench.refresh();
    expect(await bench.catalog.find(aCaller(), ALL, 'linear__search', NEVER)).toMatchObject({ server: { gated: true } });
  });

  it('change with the registration', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    await bench.view();
    bench.serve('github', [aTool('fork')]);
    await bench.refresh();
    expect(await bench.tools()).toEqual(['github__fork', 'linear__search']);
    bench.definitions.delete('linear');
    await bench.refresh();
    expect(await bench.tools()).toEqual(['github__fork']);
  });
});

describe('waiting for servers that are not known yet', () => {
  it('B091: lasts no longer than the list deadline, and the fast ones are there', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    bench.serve('fast', [aTool('x')]);
    bench.serve('down', DOWN);
    const listing = bench.view();
    await settled();
    let isDone = false;
    listing.then(() => (isDone = true), () => undefined);
    bench.clock.advance(4_999);
    await settled();
    expect(isDone).toBe(false);
    bench.clock.advance(1);
    expect(toolsIn(await listing)).toEqual(['fast__x']);
    expect(await bench.states()).toEqual({ slow: 'unavailable', fast: 'ok', down: 'unavailable' });
  });

  it('is not done again by every list for one that was waited for in vain', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    const first = bench.view();
    await settled();
    bench.clock.advance(5_000);
    await first;
    await expect(Promise.race([bench.tools(), settled().then(() => 'still waiting')])).resolves.toEqual([]);
  });

  it('is over as soon as all have answered, well or not', async () => {
    const bench = new Bench();
    bench.serve('fast', [aTool('x')]);
    bench.serve('down', DOWN);
    expect(await bench.tools()).toEqual(['fast__x']);
  });

  it('ends when the agent leaves, also when it has left already', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    const leaver = new AbortController();
    const listing = bench.catalog.view(aCaller(), ALL, leaver.signal);
    await settled();
    leaver.abort(new Error('left'));
    await expect(listing).resolves.toBeDefined();
    const other = new Bench();
    other.serve('slow', 'silence');
    await expect(other.catalog.view(aCaller(), ALL, leaver.signal)).resolves.toBeDefined();
  });

  it('leaves no timer and no listener behind', async () => {
    const bench = new Bench();
    bench.serve('fast', [aTool('x')]);
    await bench.view();
    expect(bench.clock.pending).toBe(0);
  });
});

describe('a list that is known', () => {
  it('B091: is given at once, whatever its server does now, and read again in the background when it is old', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('old')]);
    await bench.view();
    bench.clock.advance(600_001);
    bench.replies.set('linear', [aTool('new')]);
    expect(await bench.tools()).toEqual(['linear__old']);
    await settled();
    expect(await bench.tools()).toEqual(['linear__new']);
    bench.replies.set('linear', 'silence');
    bench.clock.advance(600_001);
    expect(await bench.tools()).toEqual(['linear__new']);
  });

  it('is called cached while its server is down', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('x')]);
    await bench.view();
    bench.replies.set('linear', DOWN);
    bench.clock.advance(600_001);
    await bench.view();
    await settled();
    expect(await bench.states()).toEqual({ linear: 'cached' });
    expect(bench.catalog.status(ACME, 'linear')).toEqual({ state: 'cached', reason: 'The server cannot be reached.', toolCount: 1 });
  });

  it('harms nothing when it is old and credentials cannot be looked up', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('x')], PERSONAL);
    bench.signedIn.add('linear anna');
    await bench.view();
    bench.clock.advance(600_001);
    bench.credentialsFail = true;
    expect(await bench.tools()).toEqual(['linear__x']);
    await settled();
  });
});

describe('a server that needs its person', () => {
  it('offers the stand-in to everyone until somebody has signed in, and is asked for nobody', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')], PERSONAL);
    expect(await bench.tools()).toEqual(['linear__connect']);
    expect(await bench.states()).toEqual({ linear: 'sign_in_required' });
    expect(bench.asked).toEqual([]);
  });

  it('B089: offers its tools to all of the tenant after the first sign-in', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')], PERSONAL);
    bench.signedIn.add('linear anna');
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__search']);
    expect(bench.asked).toEqual([['linear', ANNA]]);
    expect(await bench.tools(aCaller(BEN))).toEqual(['linear__search']);
  });

  it('B225: with lists of their own shows each person only theirs', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('of-anna')], { ...PERSONAL, catalog: 'principal' });
    bench.signedIn.add('linear anna').add('linear ben');
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__of-anna']);
    bench.replies.set('linear', [aTool('of-ben')]);
    expect(await bench.tools(aCaller(BEN))).toEqual(['linear__of-ben']);
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__of-anna']);
    expect(await bench.tools(aCaller('carl' as PrincipalId))).toEqual(['linear__connect']);
    expect(await bench.catalog.find(aCaller(BEN), ALL, 'linear__of-anna', NEVER)).toBeUndefined();
  });

  it('that does not answer is unavailable and not a matter of signing in', async () => {
    const bench = new Bench();
    bench.serve('linear', DOWN, PERSONAL);
    bench.signedIn.add('linear anna');
    await bench.view();
    expect(await bench.states()).toEqual({ linear: 'unavailable' });
  });
});

describe('finding a tool', () => {
  it('is immediate when its name is known', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    await bench.view();
    expect(bench.catalog.find(aCaller(), ALL, 'linear__search', NEVER)).toMatchObject({ kind: 'tool', server: { name: 'linear' }, tool: { name: 'search' } });
  });

  it('waits for servers that are not known yet, so that a node just started answers like any other', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    expect(await bench.catalog.find(aCaller(), ALL, 'linear__search', NEVER)).toMatchObject({ kind: 'tool' });
    expect(await bench.catalog.find(aCaller(), ALL, 'linear__nothing', NEVER)).toBeUndefined();
    expect(await bench.catalog.find(aCaller(), { only: 'nothing' }, 'search', NEVER)).toBeUndefined();
  });
});

describe('the status of a server', () => {
  it('is one word for every case', async () => {
    const bench = new Bench();
    expect(bench.catalog.status(ACME, 'linear')).toEqual({ state: 'pending', reason: undefined, toolCount: 0 });
    bench.serve('linear', [aTool('a'), aTool('b')]);
    bench.serve('wrong', [], { url: 'ftp://x' });
    bench.serve('down', DOWN);
    bench.serve('personal', [], PERSONAL);
    bench.serve('slow', 'silence');
    const listing = bench.view();
    await settled();
    bench.clock.advance(5_000);
    await listing;
    const status = (name: string): readonly unknown[] => {
      const { state, toolCount } = bench.catalog.status(ACME, name);
      return [state, toolCount];
    };
    expect(['linear', 'wrong', 'down', 'personal', 'slow', 'nothing'].map(status)).toEqual([
      ['ok', 2],
      ['invalid', 0],
      ['unavailable', 0],
      ['sign_in_required', 0],
      ['unavailable', 0],
      ['pending', 0],
    ]);
    expect(bench.catalog.status(ACME, 'wrong').reason).toContain('$.url:');
  });
});
