// A call that was made before costs no query: who asks, what they may use and with which key is known by then. Time stands
// still, so what is read anew each minute is not mistaken for a call's.
import { describe, expect, it } from 'vitest';
import { type CountingProxy, createCountingProxy } from '../store/counting-proxy.ts';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { PAIRINGS, type TenantSide, useScene, withKeys } from '../support/scene.ts';

const scene = useScene({ clock: new FakeClock() });
const CALLS = 50;

/** The same tenant through a node whose way to the database is counted. */
async function counted({ id, key }: TenantSide): Promise<{ readonly side: TenantSide; readonly proxy: CountingProxy }> {
  const proxy = await scene.keep(createCountingProxy(scene.app.databaseUrl));
  const node = await scene.node({ databaseUrl: proxy.url });
  return { side: scene.side(id, key, node), proxy };
}

/** What a node does when it starts, such as looking for keys to be turned, is not a call's. */
async function atRest(proxy: CountingProxy): Promise<void> {
  let quiet = 0;
  await eventually('the node to be at rest', () => {
    quiet = proxy.turns() === 0 ? quiet + 1 : 0;
    return quiet > 30;
  });
}

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it(`asks the database nothing for ${CALLS} warm calls, and is counted when it does`, async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    for (const who of ['ada', 'bob']) await tenant.setSecret('notes', who, `key-${who}`);
    const { side, proxy } = await counted(tenant);
    const ada = await side.raw(kind, 'ada');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(proxy.turns()).toBeGreaterThan(0);
    await atRest(proxy);
    for (let nth = 0; nth < CALLS; nth++) expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(proxy.turns()).toBe(0);
    // Somebody else for the first time: what is counted would have been noticed.
    expect(textOf(await (await side.raw(kind, 'bob')).callTool('notes__whoami'))).toMatch(/^who=bob;/);
    expect(proxy.turns()).toBeGreaterThan(0);
  });
});
