// The corpus through the product: an admin registers each address, and what the guard refuses is never dialled,
// whether that is told by the registration or when the server is connected to.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { within } from '../support/within.ts';
import { settingsOf, type Vector, vectorsOf } from '../upstream/egress/vectors.ts';

type Happened = { readonly dialled: string } | { readonly refused: string } | { readonly unresolved: true };

/** The internet says what the vector at hand says, and tells what became of it. */
class Internet {
  vector: Vector | undefined;
  readonly dialled: string[] = [];
  #tell: (happened: Happened) => void = () => undefined;

  next(): Promise<Happened> {
    return new Promise((resolve) => (this.#tell = resolve));
  }

  readonly resolve = async (): Promise<readonly string[]> => {
    const { resolves_to, resolver_error } = this.vector ?? {};
    if (resolver_error === undefined && resolves_to !== undefined) return resolves_to;
    this.#tell({ unresolved: true });
    throw Object.assign(new Error(resolver_error), { code: resolver_error });
  };

  readonly dial = async ({ address }: { address: string }): Promise<never> => {
    this.dialled.push(address);
    this.#tell({ dialled: address });
    throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  };

  refused(reason: string): void {
    this.#tell({ refused: reason });
  }
}

// One of them, which names an address of the machine itself, is the connector's; names that move and redirects are in egress-moves.test.ts.
const TRIED = vectorsOf('url').filter(({ config }) => config?.selfAddresses === undefined);
/** One app for all vectors of one configuration. */
const groups = new Map<string, Vector[]>();
for (const vector of TRIED) {
  const key = JSON.stringify([settingsOf(vector), vector.config?.selfHosts ?? []]);
  groups.set(key, [...(groups.get(key) ?? []), vector]);
}

it('all but one are tried', () => expect(TRIED).toHaveLength(vectorsOf('url').length - 1));

describe.each([...groups.values()].map((vectors) => ({ vectors, first: vectors[0] as Vector })))(
  'with the settings of $first.id',
  ({ vectors, first }) => {
    const internet = new Internet();
    let app: TestApp;
    let read = 0;

    beforeAll(async () => {
      const [selfHost] = first.config?.selfHosts ?? [];
      app = await startTestApp({
        egress: settingsOf(first),
        network: { resolve: internet.resolve, dial: internet.dial },
        ...(selfHost === undefined ? {} : { http: { publicUrl: `https://${selfHost}` } }),
        onLine: (line) => {
          const { msg, reason } = JSON.parse(line) as { msg?: string; reason?: string };
          if (msg === 'an address was refused') internet.refused(reason ?? '');
        },
      });
      await app.tenant('acme');
    });
    afterAll(() => app.stop());

    it.each(vectors)('$id: $verdict, because $why', async (vector) => {
      internet.vector = vector;
      const before = internet.dialled.length;
      const happened = internet.next();
      const name = `s${read++}`;
      const { status, body } = await app.admin('PUT', `/tenants/acme/servers/${name}`, { url: vector.url });
      if (status === 422) {
        expect(vector.verdict).toBe('deny');
        expect(body['problems']).toHaveLength(1);
        expect(internet.dialled).toHaveLength(before);
        return;
      }
      expect(status).toBe(200);
      const outcome = await within(happened, 'the server to be connected to');
      await app.adminOk('DELETE', `/tenants/acme/servers/${name}`);
      if (vector.verdict === 'deny') {
        expect(Object.keys(outcome)).toEqual([vector.resolver_error === undefined ? 'refused' : 'unresolved']);
        expect(internet.dialled).toHaveLength(before);
        return;
      }
      const allowed = vector.resolves_to ?? [new URL(vector.url).hostname.replace(/^\[|\]$/g, '')];
      expect(outcome).toEqual({ dialled: expect.anything() });
      for (const address of internet.dialled.slice(before)) expect(allowed).toContain(address);
    });
  },
);
