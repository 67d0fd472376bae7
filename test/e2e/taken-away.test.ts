// What was taken away is gone within a second: a tenant, an agent key, and the streams they held open.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';
import { within } from '../support/within.ts';

const scene = useScene();

describe.each(RAW_KINDS)('for %s', (kind) => {
  const listening = async () => {
    const upstream = await scene.open('legacy');
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    await agent.callTool('s__whoami');
    const { body, headers } = agent.compose('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const { stream } = kind === 'rawModern' ? await agent.post(body, headers) : await agent.get();
    return { upstream, tenant, agent, stream };
  };
  const refusedSoon = (agent: Awaited<ReturnType<typeof listening>>['agent']) => eventually('the refusal', async () => (await agent.send('tools/list')).status === 401, 1_000);

  it('a removed tenant is refused, its sessions upstream and its streams end', async () => {
    const { upstream, tenant, agent, stream } = await listening();
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}`);
    await refusedSoon(agent);
    await upstream.until(() => upstream.counters.deletes === 1, 'the upstream session to be ended');
    await within(stream?.ended() ?? Promise.resolve(), 'the stream to end', 2_000);
  });

  it('a removed agent key is refused, and the stream it opened ends', async () => {
    const { tenant, agent, stream } = await listening();
    const { items } = await scene.app.adminOk('GET', `/tenants/${tenant.id}/keys`);
    for (const { id } of items as { id: string }[]) await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/keys/${id}`);
    await refusedSoon(agent);
    await within(stream?.ended() ?? Promise.resolve(), 'the stream to end', 2_000);
  });
});
