import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/shared/id.ts';
import { ALL, Bench, DOWN, NEVER, PERSONAL } from './a-catalog.ts';
import { ACME, ANNA, aCaller, aTool, BEN, settled } from './a-tenant.ts';
import { toolsIn } from './a-view.ts';

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

  it("on one server's own path have their own names, and a path that names nothing has none", async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    bench.serve('github', [aTool('fork')]);
    expect(await bench.tools(aCaller(), { only: 'linear' })).toEqual(['search']);
    for (const only of ['nothing', '', 'Linear', '__proto__'])
      expect(await bench.catalog.view(aCaller(), { only }, NEVER)).toBeUndefined();
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
    expect(await bench.catalog.find(aCaller(), ALL, 'linear__search', NEVER)).toMatchObject({
      server: { gated: true },
    });
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

describe('finding a tool', () => {
  it('is immediate when its name is known', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')]);
    await bench.view();
    expect(bench.catalog.find(aCaller(), ALL, 'linear__search', NEVER)).toMatchObject({
      kind: 'tool',
      server: { name: 'linear' },
      tool: { name: 'search' },
    });
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
    expect(bench.catalog.status(ACME, 'linear')).toEqual({
      state: 'pending',
      reason: undefined,
      toolCount: 0,
      lastError: undefined,
    });
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
