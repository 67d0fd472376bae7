// The corpus at the socket: whatever is refused is never dialled, and what is let through is dialled at one of
// its answers and nowhere else.
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { EgressDeniedError } from '../../../src/shared/errors.ts';
import type { HttpRequest } from '../../../src/upstream/http-exchange.ts';
import type { Network } from './a-network.ts';
import { Egress } from './an-egress.ts';
import { twoFaced } from './two-faced.ts';
import { settingsOf, type Vector, vectorsOf } from './vectors.ts';

let egress: Egress | undefined;
afterEach(async () => {
  await egress?.close();
  egress = undefined;
});

async function open(vector: Vector): Promise<Egress> {
  const { config } = vector;
  egress = await Egress.open({
    settings: settingsOf(vector),
    selfHosts: config?.selfHosts ?? [],
    ownAddresses: config?.selfAddresses ?? [],
  });
  return egress;
}

const hostOf = (url: string): string => {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host.endsWith('.') ? host.slice(0, -1) : host;
};

/** Whether the request was let out; certificates of strange hosts are no matter here. */
async function outcome(asking: Promise<unknown>): Promise<'answered' | 'refused' | 'broken'> {
  try {
    await asking;
    return 'answered';
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      if (cause instanceof EgressDeniedError) return 'refused';
    return 'broken';
  }
}

describe('an address', () => {
  it.each(vectorsOf('url'))('$id: $verdict, because $why', async (vector) => {
    const { url, verdict, resolves_to, resolver_error } = vector;
    const { network, ...rest } = await open(vector);
    const answers = resolver_error === undefined ? resolves_to : new Error(resolver_error);
    if (answers !== undefined) network.answer(hostOf(url), answers);
    const came = await outcome(Promise.resolve().then(() => egress?.once(url)));
    if (verdict === 'deny') {
      expect(network.dialled).toEqual([]);
      // A name without an answer is no rule that was broken.
      expect(came).toBe(resolver_error === undefined ? 'refused' : 'broken');
      return;
    }
    expect(came).not.toBe('refused');
    expect(rest).toMatchObject({ denials: [] });
    const allowed = resolves_to ?? [new URL(url).hostname.replace(/^\[|\]$/g, '')];
    expect(network.dialled.length).toBeGreaterThan(0);
    for (const address of network.addresses) expect(allowed).toContain(address);
    if (resolves_to === undefined) expect(network.asked).toEqual([]);
  });
});

describe('a name that moves', () => {
  it.each(vectorsOf('rebind'))('$id: $why', async ({ url, ...vector }) => {
    const { network } = await open({ url, ...vector });
    const second = vector.resolver_getter_second_read;
    const lists = (vector.resolver_sequence ?? []).map((list) =>
      second === undefined ? list : list.map((answer) => twoFaced(answer, second)),
    );
    network.answer(hostOf(url), ...lists);
    for (const step of vector.steps ?? []) {
      const before = network.dialled.length;
      network.handle = (_request, response) => void response.writeHead(step.upstream_status ?? 200).end('{}');
      const came = await outcome((egress as Egress).once(url));
      expect(came).toBe(step.expect === 'allow' ? 'answered' : 'refused');
      expect(network.addresses.slice(before)).toEqual(step.dial ?? []);
      const next = vector.steps?.[vector.steps.indexOf(step) + 1];
      if (next?.reuse !== true) network.hangUp();
      // The client frees its socket in the turn after the answer.
      await setImmediate();
    }
  });
});

describe('a chain of redirects', () => {
  it.each(vectorsOf('redirect'))('$id ($mode): $verdict, because $why', async (vector) => {
    const { network } = await open(vector);
    for (const [host, answers] of Object.entries(vector.dns ?? {})) {
      const lists = Array.isArray(answers[0]) ? (answers as string[][]) : [answers as string[]];
      network.answer(host, ...lists);
    }
    const chain = vector.chain ?? [];
    network.handle = (_request, response) => {
      const { status, location, close } = chain[network.seen.length - 1] ?? { status: 200 };
      if (close === true) response.shouldKeepAlive = false;
      response.writeHead(status, location === undefined ? {} : { location }).end();
    };
    const rest: Partial<HttpRequest> = {
      method: (vector.method ?? 'GET') as 'GET',
      ...(vector.body === undefined ? {} : { body: vector.body }),
      headers: Object.entries(vector.headers ?? {}).flat(),
      carriesCredential: vector.mode === 'same-origin',
    };
    const asking = (egress as Egress).get(vector.url, rest);
    if (vector.verdict === 'deny') {
      await expect(asking).rejects.toMatchObject({
        code: expect.stringMatching(/^(egress_denied|upstream_protocol)$/),
      });
      const asked = network.seen.map(({ host }) => host);
      // The last one that was asked is the one that sent us on, within the limit.
      expect(asked.length).toBeLessThanOrEqual(4);
      expect(asked.length).toBeLessThan(chain.length + (chain.at(-1)?.status === 200 ? 0 : 1));
      return;
    }
    expectFollowed(vector, await asking, network);
  });
});

function expectFollowed(vector: Vector, answer: unknown, { seen }: Network): void {
  const chain = vector.chain ?? [];
  const last = chain.findIndex(({ status }) => ![301, 302, 303, 307, 308].includes(status));
  expect(answer).toMatchObject({ status: chain[last]?.status });
  expect(seen).toHaveLength(last + 1);
  for (const [hop, names] of Object.entries(vector.forbid_headers_from_hop ?? {}))
    for (const { headers } of seen.slice(Number(hop) - 1))
      for (const name of names) expect(headers).not.toHaveProperty(name);
  for (const [hop, names] of Object.entries(vector.require_headers_at_hop ?? {}))
    for (const name of names) expect(seen[Number(hop) - 1]?.headers).toHaveProperty(name);
  const { method, body } = vector;
  if (method !== undefined) for (const one of seen) expect(one).toMatchObject({ method, body });
}
