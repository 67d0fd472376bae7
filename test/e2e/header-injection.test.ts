// T24: whatever is given as a key, a token, a header's name or the word before it, a real server is sent one header
// with just that value, or the thing is refused; nothing comes out of it as a second header or a second request, and
// no refusal repeats it.
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { ERAS, type Era, type TenantSide, useScene } from '../support/scene.ts';
import { type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import type { AnswerHook } from '../support/sign-in/as-options.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { linkIn, postKey } from '../support/sign-in.ts';
import type { JsonObject } from '../support/upstreams/message.ts';

const scene = useScene();

const CANARY = 'canary-7d31';
const RUNS = 40;

/** Pieces that end a header, a line or a request somewhere, and some of everything else. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('', '', '', 'a', 'k-1', '=', '/+', '"', '{token}', '%0d%0a') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\r\nx-evil: 1',
      '\n',
      '\r',
      '\u0000',
      ' ',
      '\t',
      ', b',
      ':',
      '\u0085',
      '\u2028',
      '\u200b',
      '\u010a\u010d',
      '\u560a\u560d',
      '\u00ff',
      '\ud800',
      '\u007f',
      'Bearer ',
      '\r\n\r\nGET /evil HTTP/1.1\r\nhost: evil\r\n\r\n',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);
const around = (middle: string): fc.Arbitrary<string> =>
  fc.tuple(piece, piece).map(([before, after]) => `${before}${middle}${after}`);
const odd = around(CANARY);
const name = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('authorization', 'X-Api-Key', 'x-token', "x!#$%&'*+.^_`|~") },
  {
    weight: 2,
    arbitrary: fc.constantFrom('host', 'Content-Length', 'transfer-encoding', 'COOKIE', 'Mcp-Session-Id', 'mcp-name'),
  },
  { weight: 2, arbitrary: around('x-odd') },
);
const scheme = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('', 'Bearer', 'Token', 'Basic') },
  { weight: 1, arbitrary: around('Odd') },
);

/** What MCP itself and the connection need; anything else is the credential's. */
const USUAL = /^(?:host|connection|content-type|content-length|transfer-encoding|accept|accept-encoding|mcp-[a-z-]+)$/;

interface Given {
  readonly header: string;
  readonly scheme: string;
  readonly token: string;
}

/** One header with one value: the word, and what was given without what people paste around it. */
function expectGiven(rawHeaders: readonly string[], { header, scheme, token }: Given): void {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((text) => text.toLowerCase());
  expect(names.filter((text) => !USUAL.test(text))).toEqual([header.toLowerCase()]);
  const value = rawHeaders[2 * names.indexOf(header.toLowerCase()) + 1] ?? '';
  const word = scheme === '' ? '' : `${scheme} `;
  const pasted = token.trim();
  const isWholeLine = [`${header}:`, word].some(
    (start) => start !== '' && pasted.toLowerCase().startsWith(start.toLowerCase()),
  );
  expect(value.startsWith(word)).toBe(true);
  const sent = value.slice(word.length);
  if (!isWholeLine) expect(sent).toBe(pasted);
  expect(pasted.endsWith(sent)).toBe(true);
  expect(sent).toContain(CANARY);
}

/** Where to sign in is found out without any credential. */
const isLookingAround = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.includes('sec-fetch-mode') && !rawHeaders.join().includes(CANARY);

class Bench {
  readonly upstream: ScriptedUpstream;
  readonly tenant: TenantSide;
  readonly agent: RawAgent;
  #servers = 0;
  /** How often something was sent, and how often it was refused. */
  readonly counted = { sent: 0, refused: 0 };

  constructor(upstream: ScriptedUpstream, tenant: TenantSide, agent: RawAgent) {
    [this.upstream, this.tenant, this.agent] = [upstream, tenant, agent];
  }

  static async open(era: Era): Promise<Bench> {
    const upstream = await scene.keep(
      startScripted({ era, onCall: ({ result }) => result('{"resultType":"complete","content":[]}') }),
    );
    const tenant = await scene.tenant();
    return new Bench(upstream, tenant, await tenant.raw('rawLegacy', 'ada'));
  }

  /** Under a name of its own; undefined when it was refused. */
  async register(credential: JsonObject): Promise<string | undefined> {
    const name = `s${++this.#servers}`;
    const isTaken = await this.put(`servers/${name}`, { url: this.upstream.url, credential });
    return isTaken ? name : undefined;
  }

  /** Whether it was taken; a refusal must not repeat what was refused. */
  async put(path: string, body: unknown): Promise<boolean> {
    const reply = await scene.app.admin('PUT', `/tenants/${this.tenant.id}/${path}`, body);
    if (reply.status < 300) return true;
    expect(reply.status).toBe(422);
    expect(JSON.stringify(reply.body)).not.toContain(CANARY);
    this.counted.refused += 1;
    return false;
  }

  /** Calls, and holds every request that comes of it against what was given; of a refusal nothing is sent or told. */
  async call(name: string, given: Given, isKept: boolean): Promise<void> {
    const before = this.upstream.requests.length;
    await this.agent.listTools();
    const result = await this.agent.callTool(`${name}__act`).catch((error: unknown) => ({ isError: true, error }));
    const requests = this.upstream.requests.slice(before).filter((request) => !isLookingAround(request));
    if (!isKept || result['isError'] === true) {
      expect(requests.length).toBe(0);
      expect(inspect(result, { depth: 9 })).not.toContain(CANARY);
      this.counted.refused += 1;
      return;
    }
    expect(requests.length).toBeGreaterThan(0);
    for (const { rawHeaders } of requests) expectGiven(rawHeaders, given);
    this.counted.sent += 1;
  }

  /** No refusal went into the log either, nothing came as a request of its own, and neither outcome is the only one. */
  expectQuiet(): void {
    expect(scene.app.lines.join('')).not.toContain(CANARY);
    expect(this.upstream.requests.filter(({ url }) => url?.includes('evil'))).toEqual([]);
    expect(this.counted.sent).toBeGreaterThan(3);
    expect(this.counted.refused).toBeGreaterThan(3);
  }
}

it.each(ERAS)(
  'a key is sent to a %s server as it is, by any header, or refused',
  async (era) => {
    const bench = await Bench.open(era);
    await fc.assert(
      fc.asyncProperty(name, scheme, odd, fc.boolean(), async (header, word, token, isPasted) => {
        const server = await bench.register({ owner: 'principal', kind: 'secret', header, scheme: word });
        if (server === undefined) return;
        const given = { header, scheme: word, token };
        if (!isPasted) {
          const isKept = await bench.put(`servers/${server}/credentials/ada`, { secret: token });
          return bench.call(server, given, isKept);
        }
        // The page tries a key before it keeps it.
        const before = bench.upstream.requests.length;
        const page = await postKey(linkIn(await bench.agent.callTool(`${server}__connect`)), token);
        expect(page.text).not.toContain(CANARY);
        for (const { rawHeaders } of bench.upstream.requests.slice(before)) expectGiven(rawHeaders, given);
        await bench.call(server, given, page.text.includes('<title>Connected</title>'));
      }),
      { numRuns: RUNS },
    );
    bench.expectQuiet();
  },
  60_000,
);

it('a static header is sent as it is, or refused', async () => {
  const bench = await Bench.open('legacy');
  await fc.assert(
    fc.asyncProperty(name, odd, async (header, token) => {
      const server = `h${bench.upstream.requests.length}-${bench.counted.refused}`;
      if (!(await bench.put(`servers/${server}`, { url: bench.upstream.url, headers: { [header]: token } }))) return;
      await bench.call(server, { header, scheme: '', token }, true);
    }),
    { numRuns: RUNS },
  );
  bench.expectQuiet();
}, 60_000);

it('a token that a sign-in server gave is sent as it is, or nobody is connected by it', async () => {
  const bench = await Bench.open('modern');
  const as = await scene.keep(startScriptedAs());
  as.addClient({ clientId: 'us', secret: 'our-secret' });
  let token = '';
  const gives: AnswerHook = async (_request, work) => {
    const answer = await work();
    return { ...answer, body: { ...(answer.body as object), access_token: token } };
  };
  as.always('token', gives);
  const oauth = { clientId: 'us', clientSecret: 'our-secret', issuer: as.issuer };
  await fc.assert(
    fc.asyncProperty(odd, async (given) => {
      token = given;
      const server = await bench.register({ kind: 'client_credentials', oauth });
      if (server !== undefined) await bench.call(server, { header: 'authorization', scheme: 'Bearer', token }, true);
    }),
    { numRuns: RUNS },
  );
  bench.expectQuiet();
}, 60_000);
