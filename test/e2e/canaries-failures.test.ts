// T23: keys where something goes wrong: a server that is slow, one that refuses, a renewal that fails, a key that is
// pasted and not taken; and each says all that it was sent, in every form.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { textOf } from '../support/agents/agent.ts';
import { ERAS, type Era, useScene, withKeys } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import type { AnswerHook } from '../support/sign-in/as-options.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import { eventText, startEvents } from '../support/upstreams/responses.ts';
import { within } from '../support/within.ts';
import { writtenForms } from '../support/written-forms.ts';
import { aGrantedPerson } from './a-granted-person.ts';
import { expectNowhere } from './canary-places.ts';

/** What a person waits half a minute for is over in a third of a second. */
const hasty: Clock = {
  ...systemClock,
  after: (ms, job) => systemClock.after(ms < 20_000 ? ms : ms / 100, job),
};
const scene = useScene({ clock: hasty });

const inAllForms = (...secrets: readonly string[]): string => secrets.flatMap(writtenForms).join(' | ');

const bearerOf = ({ headers }: IncomingMessage): string => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';

/** What a server does with a request that it knows the key of. */
type Mood = 'good' | 'refuses' | 'is silent' | 'is silent in the middle';

function inMood(mood: Mood, req: IncomingMessage, res: ServerResponse): boolean {
  const said = bearerOf(req) === '' ? '' : inAllForms(bearerOf(req));
  if (mood === 'refuses') {
    const challenge = `Bearer error="invalid_token", error_description="${encodeURIComponent(said)}"`;
    res.writeHead(401, { 'www-authenticate': challenge, 'content-type': 'text/html' }).end(`<p>${said}</p>`);
  } else if (mood === 'is silent in the middle') {
    startEvents(res);
    const params = { level: 'error', data: said };
    res.write(eventText(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })));
    res.write(`data: {"jsonrpc":"2.0","result":"${said}`);
  }
  return mood !== 'good';
}

async function aMoodyServer(era: Era) {
  const state: { mood: Mood; keys: string[] } = { mood: 'good', keys: [] };
  const upstream = await scene.keep(
    startScripted({
      era,
      onOther: (message, req, res) => {
        if (bearerOf(req) !== '') state.keys.push(bearerOf(req));
        return message !== undefined && inMood(state.mood, req, res);
      },
      onCall: ({ req, res, result }) => {
        if (!inMood(state.mood, req, res)) result('{"content":[{"type":"text","text":"went well"}]}');
      },
    }),
  );
  return { upstream, state };
}

describe.each(ERAS)('a key pasted for a %s server', (era) => {
  it('is nowhere, whether it is taken, refused or not answered, then or at a call', async () => {
    const secrets = {
      refused: 'sk_live+1f/9a"Qz-refused',
      unanswered: 'sk_live+2f/9a"Qz-unanswered',
      illegal: 'sk_live+3f/9a"Qz-illegal',
      taken: 'sk_live+4f/9a"Qz-taken',
    };
    const { upstream, state } = await aMoodyServer(era);
    const tenant = await scene.tenant({ notes: withKeys(upstream, { timeoutMs: 300 }) });
    const agent = await tenant.raw('rawLegacy', 'ada');
    const link = linkIn(await agent.callTool('notes__connect'));
    const seen: string[] = [];
    const paste = async (secret: string, mood: Mood): Promise<number> => {
      state.mood = mood;
      const { status, text } = await within(postKey(link, secret), 'the page');
      seen.push(text);
      return status;
    };
    expect(await paste(secrets.refused, 'refuses')).toBe(422);
    expect(await paste(secrets.unanswered, 'is silent')).toBe(422);
    expect(await paste(secrets.unanswered, 'is silent in the middle')).toBe(422);
    expect(await paste(`${secrets.illegal}\u0001`, 'good')).toBe(422);
    expect(await paste(secrets.taken, 'good')).toBe(200);
    expect(new Set(state.keys)).toEqual(new Set([secrets.refused, secrets.unanswered, secrets.taken]));

    await agent.listTools();
    for (const [mood, outcome] of [
      ['good', 'went well'],
      ['is silent', 'upstream_timeout'],
      ['is silent in the middle', 'upstream_timeout'],
      ['refuses', 'sign_in_required'],
    ] as const) {
      state.mood = mood;
      const response = await agent.send('tools/call', { name: 'notes__act', arguments: {} });
      const text = [
        JSON.stringify(await response.answer()),
        ...(response.stream?.events ?? []).map(({ data }) => data),
      ];
      expect(text.join(), mood).toContain(outcome);
      seen.push(...text);
    }
    await expectNowhere(scene.app, secrets, { tenant: tenant.id, servers: ['notes'], seen });
  });
});

/** Each tells in its own way what it was sent. */
const FAILURES: Readonly<Record<string, (said: string) => ReturnType<AnswerHook>>> = {
  'in the description of an error that passes': async (said) => ({
    status: 503,
    body: { error: 'temporarily_unavailable', error_description: said, error_uri: said },
  }),
  'as the error itself': async (said) => ({ status: 400, body: { error: said } }),
  'in a page': async (said) => ({ status: 500, headers: { 'content-type': 'text/html' }, body: `<p>${said}</p>` }),
  'in what is no JSON': async (said) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"access_token":"${said}`,
  }),
  'in the address of a redirect': async (said) => ({
    status: 302,
    headers: { location: `https://x.example/?${encodeURIComponent(said)}` },
  }),
  'in a type that is none': async (said) => ({
    status: 200,
    body: { access_token: 'a-token-of-no-use', token_type: said, expires_in: said },
  }),
  'and hangs up': async () => 'drop',
  'in the description of the last refusal': async (said) => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: said, error_uri: said },
  }),
};

describe.each(ERAS)('a renewal for a %s server that fails', (era) => {
  it.each(Object.entries(FAILURES))('shows no token and no secret that is said back %s', async (_, fail) => {
    const clientSecret = 'client+secret/canary"5a';
    const { as, mcp, tenant, agent, accessToken, refreshToken } = await aGrantedPerson(scene, era, 'rawLegacy', {
      oauth: { clientSecret },
    });
    as.addClient({ clientId: 'by-hand', secret: clientSecret, method: 'client_secret_post' });
    const seen = [JSON.stringify(await agent.listTools())];
    expect(textOf(await agent.callTool('notes__whoami'))).toMatch(/^who=ada;/);
    as.expireAll();
    as.always('token', ({ params, headers }) =>
      fail(`${JSON.stringify({ params, headers })} ${inAllForms(refreshToken, clientSecret, accessToken)}`),
    );
    seen.push(JSON.stringify(await agent.callTool('notes__whoami').catch(String)));
    seen.push(JSON.stringify(await agent.callTool('notes__whoami').catch(String)));
    expect(as.seen.token.map(({ params }) => params['refresh_token'])).toContain(refreshToken);
    expect(mcp.tokens).toContain(accessToken);
    const secrets = { clientSecret, accessToken, refreshToken };
    await expectNowhere(scene.app, secrets, { tenant: tenant.id, servers: ['notes'], seen });
  });
});
