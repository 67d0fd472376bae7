// What must not travel: the agent's own credentials upstream, and any secret into a log line or an answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { PAIRINGS, Scene, withKeys } from '../support/scene.ts';
import { linkIn, openLink, postKey } from '../support/sign-in.ts';
import { startBadServer } from '../support/upstreams/bad-server.ts';

const scene = new Scene({});
beforeAll(() => scene.begin());
afterAll(() => scene.end());

describe.each(PAIRINGS)('from $agent to a $upstream server', ({ agent: kind, upstream: era }) => {
  it("B230: none of the agent's credentials, cookies or addresses go upstream", async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agent = await tenant.raw(kind);
    agent.headers = {
      ...agent.headers,
      cookie: 'agent-cookie=agent-canary',
      'x-api-key': 'agent-canary',
      'proxy-authorization': 'Basic agent-canary',
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': 'agent-canary',
      forwarded: 'for=agent-canary',
      origin: 'http://localhost:3000',
      referer: 'http://localhost:3000/agent-canary',
      'accept-language': 'xx-canary',
      'user-agent': 'agent-canary',
    };
    await agent.listTools();
    await agent.callTool('s__whoami');
    await agent.callTool('s__progress', { count: 1, everyMs: 1 }, { onProgress: () => {} });
    const sent = JSON.stringify(upstream.seen);
    for (const canary of [
      'agent-canary',
      '203.0.113.7',
      'xx-canary',
      tenant.key,
      'keybearer-principal',
      'localhost:3000',
    ])
      expect(sent).not.toContain(canary);
    for (const { headers } of upstream.seen) {
      expect(headers.authorization).toBe('Bearer key-ada');
      expect(
        Object.keys(headers).filter(
          (name) =>
            !/^(host|connection|content-type|content-length|accept|accept-encoding|authorization|mcp-[a-z-]+)$/.test(
              name,
            ),
        ),
      ).toEqual([]);
    }
  });
});

describe('secrets', () => {
  let app: TestApp;
  const answers: string[] = [];
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.stop());

  it('are in no log line, no answer and no row, whatever goes wrong', async () => {
    const pasted = 'canary-pasted-4e1b';
    const literal = 'canary-literal-93ac';
    const wrong = 'canary-wrong-77d0';
    const upstream = await scene.keyed('legacy', { keys: [[pasted, 'ada']] });
    const scolding = await startBadServer('healthy');
    scene.later(() => scolding.close());
    await app.tenant('acme');
    const key = await app.agentKey('acme');
    const side = scene.side('acme', key, app);
    answers.push(JSON.stringify(await side.put('s', withKeys(upstream, { headers: { 'x-team': literal } }))));
    answers.push(JSON.stringify(await side.put('b', { url: scolding.url, headers: { 'x-team': literal } })));
    const ada = await side.raw('rawLegacy');
    const link = linkIn(await ada.callTool('s__connect'));
    answers.push(
      (await postKey(link, wrong)).text,
      (await postKey(link, `${wrong}\u0001`)).text,
      (await openLink(link)).text,
      (await postKey(link, pasted)).text,
    );
    await ada.callTool('s__whoami');
    for (const mode of [
      'unauthorized',
      'http-500',
      'reset',
      'invalid-json',
      'html',
      'hang-after-headers',
      'die-mid-answer',
    ] as const) {
      scolding.mode = mode;
      answers.push(
        JSON.stringify(
          await ada.send('tools/call', { name: 'b__echo', arguments: {} }, AbortSignal.timeout(400)).then(
            (response) => response.text(),
            () => '',
          ),
        ),
      );
    }
    upstream.keys.clear();
    answers.push(JSON.stringify(await ada.callTool('s__whoami')));
    for (const path of ['servers', 'servers/s', 'credentials', 'connections', 'keys'])
      answers.push(JSON.stringify(await app.adminOk('GET', `/tenants/acme/${path}`)));
    const rows = JSON.stringify([
      await app.sql('SELECT * FROM servers'),
      await app.sql("SELECT *, encode(sealed, 'escape') AS text FROM credentials"),
      await app.sql('SELECT * FROM tickets'),
      await app.sql('SELECT * FROM agent_keys'),
    ]);
    const ticket = link.split('/').at(-1) ?? '';
    expect(app.lines.length).toBeGreaterThan(0);
    for (const canary of [pasted, literal, wrong, key, app.adminKey]) {
      expect(app.lines.join(''), 'log').not.toContain(canary);
      expect(answers.join(''), 'answers').not.toContain(canary);
      expect(rows, 'rows').not.toContain(canary);
    }
    expect(app.lines.join('')).not.toContain(ticket);
    expect(rows).not.toContain(ticket);
  });
});
