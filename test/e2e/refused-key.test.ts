// For pasted keys: a refused key is tried once more only when a newer one is kept, and never a third time.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { PAIRINGS, useScene, withKeys } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { linkIn } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';

// Time stands still: the feed reads everything anew each minute, and would find the newer key before the call does.
const scene = useScene({ clock: new FakeClock() });

const callsWith = ({ seen }: KeyedServer, key: string) =>
  seen.filter(({ method, headers }) => method === 'tools/call' && headers.authorization === `Bearer ${key}`).length;
/** Requests that were turned away; ending a session with the dead key is none. */
const refusals = ({ seen }: KeyedServer) =>
  seen.filter(({ http, principal }) => http === 'POST' && principal === undefined).length;

describe.each(PAIRINGS)('$agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('is asked to sign in after one refusal when no newer key is kept', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('notes__whoami');
    upstream.keys.delete('key-ada');
    const before = refusals(upstream);
    const result = await ada.callTool('notes__whoami');
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: 'sign_in_required', url: linkIn(result) },
    });
    expect(textOf(result)).toMatch(/^notes refused the key that is kept for this person; another one is needed\. Ask/);
    expect(await tenant.status('notes')).toMatchObject({
      status: 'ok',
      lastError: 'The server refused a credential (HTTP status 401).',
      lastErrorAt: expect.stringMatching(/Z$/),
    });
    expect(callsWith(upstream, 'key-ada')).toBe(2);
    expect(refusals(upstream) - before).toBe(1);
  });

  it('goes on by itself with a newer key that somebody stored meanwhile, and asks after a second refusal', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    await tenant.setSecret('notes', 'ada', 'key-ada');
    const ada = await tenant.raw(kind, 'ada');
    await ada.callTool('notes__whoami');
    // The newer key is in the table, but this node has not heard of it: its notice was lost.
    const node = await scene.node();
    upstream.keys.delete('key-ada');
    upstream.keys.set('key-ada-2', 'ada');
    await scene.app.sql('ALTER TABLE credentials DISABLE TRIGGER USER');
    await scene.side(tenant.id, tenant.key, node).setSecret('notes', 'ada', 'key-ada-2');
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect([callsWith(upstream, 'key-ada'), callsWith(upstream, 'key-ada-2')]).toEqual([2, 1]);

    await scene.side(tenant.id, tenant.key, node).setSecret('notes', 'ada', 'key-ada-3');
    await scene.app.sql('ALTER TABLE credentials ENABLE TRIGGER USER');
    upstream.keys.clear();
    const before = refusals(upstream);
    expect(await ada.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(refusals(upstream) - before, 'never a third try').toBe(2);
  });

  it('never makes an upstream refusal its own', async () => {
    const upstream = await scene.keep(startScripted({ era, onCall: ({ res }) => res.writeHead(403).end() }));
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'any');
    const ada = await tenant.raw(kind, 'ada');
    const response = await ada.send('tools/call', { name: 's__act', arguments: {} });
    expect(response.status).toBe(200);
    expect(await response.answer()).toMatchObject({ result: { structuredContent: { error: 'sign_in_required' } } });
    expect(upstream.calls).toBe(1);
  });

  it('does not ask a person to sign in to a server that takes no key from persons', async () => {
    const upstream = await scene.keep(startScripted({ era, onCall: ({ res }) => res.writeHead(401).end() }));
    const tenant = await scene.tenant({ s: { url: upstream.url } });
    const result = await (await tenant.raw(kind, 'ada')).callTool('s__act');
    expect(result).toMatchObject({ isError: true, structuredContent: { error: 'upstream_unavailable' } });
    expect(upstream.calls).toBe(1);
  });
});
