// What a product's server calls to say who its person is. It has no cookies and reads no pages: the key is
// what lets it in, and wrong keys count against where they come from.
import type { Request, RequestHandler, Response } from 'express';
import type { ClientAddress } from '../limits/client-address.ts';
import type { Strangers } from '../limits/strangers.ts';
import { toProxyError } from '../shared/errors.ts';
import { isJsonObject } from '../wire/reply.ts';
import { confirmHandoff, type ProveHandoffDeps } from './prove-handoff.ts';
import { siteOf } from './site.ts';

export interface HandoffRouteDeps extends ProveHandoffDeps {
  readonly strangers: Pick<Strangers, 'count' | 'forgive'>;
  readonly clients: Pick<ClientAddress, 'of'>;
  readonly publicUrl: () => string;
}

export function handoffRoute(deps: HandoffRouteDeps): RequestHandler {
  const { strangers, clients, publicUrl } = deps;
  return async (request: Request, response: Response) => {
    const address = clients.of(request);
    try {
      strangers.count(address);
    } catch (error) {
      const { code, message, data } = toProxyError(error);
      const waitS = Math.ceil(Number(data?.['retryAfterMs'] ?? 1_000) / 1_000);
      response.status(429).set('Retry-After', String(waitS)).json({ error: code, message });
      return;
    }
    const body: unknown = request.body;
    const { flow, principal } = isJsonObject(body) ? body : {};
    const confirmation = { authorization: request.headers.authorization, flow, principal };
    const answer = await confirmHandoff(deps, siteOf(publicUrl()), confirmation);
    if (answer.status !== 401 && answer.status !== 404) strangers.forgive(address);
    response.status(answer.status).json(answer.body);
  };
}
