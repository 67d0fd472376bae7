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
  const refusedSoon = (agent: Awaited<ReturnType<typeof listening>>['agent']) =>
    eventually('the refusal', async () => (await agent.send('tools/list')).status === 401, 1_000);

  const removeKeys = async (tenant: string) => {
    const { items } = await scene.app.adminOk('GET', `/tenants/${tenant}/keys`);
    for (const { id } of items as { id: string }[]) await scene.app.adminOk('DELETE', `/tenants/${tenant}/keys/${id}`);
  };

  it('a removed tenant is refused, and its sessions upstream end', async () => {
    const { upstream, tenant, agent } = await listening();
    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}`);
    await refusedSoon(agent);
    await upstream.until(() => upstream.counters.deletes === 1, 'the upstream session to be ended');
  });

  it('a removed agent key is refused by the very next request', async () => {
    const { tenant, agent } = await listening();
    await removeKeys(tenant.id);
    expect((await agent.send('tools/list')).status).toBe(401);
  });

  it('the streams of a removed tenant or agent key end', async () => {
    const [one, two] = [await listening(), await listening()];
    await scene.app.adminOk('DELETE', `/tenants/${one.tenant.id}`);
    await removeKeys(two.tenant.id);
    for (const { stream } of [one, two]) await within(stream?.ended() ?? Promise.resolve(), 'the stream to end', 2_000);
  });
});
