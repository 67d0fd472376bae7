// The connect tool gives the link, waits when asked to, and says when there is nothing to do.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { RAW_KINDS, useScene, withKeys } from '../support/scene.ts';
import { linkIn, openLink, postKey } from '../support/sign-in.ts';
import { within } from '../support/within.ts';

const scene = useScene();

describe.each(RAW_KINDS)('the connect tool for %s', (kind) => {
  it('gives the link as text and as structure; posting the key on its page connects', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ notes: withKeys(upstream, { title: 'Notes & <b>more</b>' }) });
    const ada = await tenant.raw(kind, 'ada');
    const result = await ada.callTool('notes__connect');
    const url = linkIn(result);
    expect(result).toMatchObject({
      structuredContent: {
        status: 'sign_in_required',
        server: 'notes',
        url,
        expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    expect(result['isError']).toBeUndefined();
    expect(textOf(result)).toContain(url);
    expect(url.startsWith(`${scene.app.url}/connect/`)).toBe(true);
    expect(linkIn(await ada.callTool('notes__connect')), 'the same link while it is good').toBe(url);

    const page = await openLink(url);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Notes &amp; &lt;b&gt;more&lt;/b&gt;');
    expect(await postKey(url, 'wrong')).toMatchObject({ status: 422 });
    expect(await postKey(url, 'key-ada')).toMatchObject({
      status: 200,
      text: expect.stringContaining('back to your agent'),
    });
    expect((await openLink(url)).status, 'used up').toBe(410);
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    expect(await ada.callTool('notes__connect')).toMatchObject({
      structuredContent: { status: 'connected', server: 'notes' },
    });
  });

  it('B099: gives a link again once the server has refused the stored key', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const ada = await tenant.raw(kind, 'ada');
    await postKey(linkIn(await ada.callTool('notes__connect')), 'key-ada');
    expect(await ada.callTool('notes__connect')).toMatchObject({ structuredContent: { status: 'connected' } });
    upstream.keys.delete('key-ada');
    expect(await ada.callTool('notes__whoami')).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    const again = linkIn(await ada.callTool('notes__connect'));
    upstream.keys.set('key-new', 'ada');
    expect((await postKey(again, 'key-new')).status).toBe(200);
    expect(await ada.callTool('notes__connect')).toMatchObject({ structuredContent: { status: 'connected' } });
  });

  it('waits with {"wait": true} until the person has signed in on another node', async () => {
    const upstream = await scene.keyed('modern');
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const node = await scene.node();
    const ada = await tenant.raw(kind, 'ada');
    const waiting = ada.callTool('notes__connect', { wait: true });
    let isOver = false;
    void waiting.finally(() => (isOver = true));
    const link = linkIn(
      await (await scene.side(tenant.id, tenant.key, node).raw(kind, 'ada')).callTool('notes__connect'),
    );
    expect(isOver).toBe(false);
    expect((await postKey(link, 'key-ada')).status).toBe(200);
    expect(await within(waiting, 'the wait to end', 1_500)).toMatchObject({
      structuredContent: { status: 'connected' },
    });
    expect(textOf(await ada.callTool('notes__whoami'))).toMatch(/^who=ada;/);
  });

  it('stops waiting when its agent leaves', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const ada = await tenant.raw(kind, 'ada');
    const leave = new AbortController();
    const waiting = ada.callTool('notes__connect', { wait: true }, { signal: leave.signal });
    await eventually(
      'the link to be made',
      async () => (await scene.app.sql('SELECT 1 FROM tickets WHERE tenant_id = $1', [tenant.id])).length > 0,
    );
    leave.abort();
    await expect(waiting).rejects.toThrow();
    expect(linkIn(await ada.callTool('notes__connect'))).toContain('/connect/');
  });

  it('gives each person a link of their own, and nobody a link to another tenant', async () => {
    const upstream = await scene.keyed('legacy');
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const other = await scene.tenant({ notes: withKeys(upstream) });
    const links = await Promise.all(
      [await tenant.raw(kind, 'ada'), await tenant.raw(kind, 'bob'), await other.raw(kind, 'ada')].map(async (agent) =>
        linkIn(await agent.callTool('notes__connect')),
      ),
    );
    expect(new Set(links).size).toBe(3);
    await postKey(links[1] ?? '', 'key-bob');
    expect(await (await tenant.raw(kind, 'ada')).callTool('notes__connect')).toMatchObject({
      structuredContent: { status: 'sign_in_required' },
    });
    expect(textOf(await (await tenant.raw(kind, 'bob')).callTool('notes__whoami'))).toMatch(/^who=bob;/);
  });
});

describe('the wait of the connect tool', () => {
  const short = useScene({ limits: { signInWaitMs: 300 } });

  it.each(RAW_KINDS)('is bounded, and then gives %s the link', async (kind) => {
    const upstream = await short.keyed('legacy');
    const tenant = await short.tenant({ notes: withKeys(upstream) });
    const ada = await tenant.raw(kind, 'ada');
    const result = await within(ada.callTool('notes__connect', { wait: true }), 'the wait to end', 2_000);
    expect(result).toMatchObject({ structuredContent: { status: 'sign_in_required', url: linkIn(result) } });
  });
});
