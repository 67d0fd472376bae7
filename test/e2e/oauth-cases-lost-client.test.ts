// A sign-in server that has forgotten our registration, and with it all that was given to it.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { useScene } from '../support/scene.ts';
import { signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';

const scene = useScene();

describe('a registration that the server has lost (B207, B211)', () => {
  it('is made once more for everybody, on whatever node, and each is asked once', async () => {
    const { as, tenant } = await signInWorld(scene, 'modern', { as: { rotation: 'strict' } });
    const node = await scene.node({ http: { publicUrl: scene.app.url } });
    const there = scene.side(tenant.id, tenant.key, node);
    const names = ['ada', 'bob', 'cy', 'dee'];
    const people = await Promise.all(
      names.map(async (name, n) => ({ name, agent: await (n % 2 === 0 ? tenant : there).raw('rawModern', name) })),
    );
    for (const { name, agent } of people) await signIn({ as }, agent, name);
    expect(as.seen.register).toHaveLength(1);
    for (const clientId of as.clients.keys()) as.forgetClient(clientId);
    as.expireAll();
    // None is answered before all have asked.
    const before = as.seen.token.length;
    as.always('token', async (_request, work) => {
      await as.until(() => as.seen.token.length === before + people.length);
      return work();
    });
    const refused = await Promise.all(people.map(({ agent }) => agent.callTool('notes__whoami')));
    for (const result of refused) expect(result).toMatchObject({ structuredContent: { error: 'sign_in_required' } });
    expect(as.seen.register, 'nobody is registered before somebody signs in').toHaveLength(1);
    as.always('token', undefined);
    for (const { name, agent } of people) {
      await signIn({ as }, agent, name);
      await eventually('the new grant', async () =>
        textOf(await agent.callTool('notes__whoami')).startsWith(`who=${name};`),
      );
    }
    expect(as.seen.register).toHaveLength(2);
  });
});
