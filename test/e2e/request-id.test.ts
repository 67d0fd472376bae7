// Ids come back as they were sent, and what is no id is refused.
import { describe, expect, it } from 'vitest';
import { RAW_KINDS, useScene, without } from '../support/scene.ts';

const scene = useScene();

describe.each(RAW_KINDS)('the id of a request of %s', (kind) => {
  it.each(['7', '"7"', '0', '-1', '9007199254740991', '"漢 \\"😀\\""', '""', '"\\u0000"'])(
    '%s comes back as it was',
    async (id) => {
      const server = await scene.open('legacy');
      const tenant = await scene.tenant({ s: without(server) });
      const agent = await tenant.raw(kind);
      for (const [method, params] of [
        ['tools/list', {}],
        ['tools/call', { name: 's__whoami' }],
        ['tools/call', { name: 'no__such' }],
      ] as const) {
        const { body, headers } = agent.compose(method, params);
        const response = await agent.post(JSON.stringify({ ...body, id: '@' }).replace('"@"', id), headers);
        const answer = await response.answer();
        expect(answer['id']).toEqual(JSON.parse(id));
        expect(typeof answer['id']).toBe(typeof JSON.parse(id));
      }
    },
  );

  it.each(['null', '1.5', '9007199254740993', 'true', '{}', '[1]'])('%s is refused', async (id) => {
    const tenant = await scene.tenant();
    const agent = await tenant.raw(kind);
    const { body, headers } = agent.compose('tools/list');
    const response = await agent.post(JSON.stringify({ ...body, id: '@' }).replace('"@"', id), headers);
    expect([response.status, await response.answer()]).toMatchObject([400, { id: null, error: { code: -32600 } }]);
  });
});
