// Requests to upstreams, with the redirects that may be followed: three at most, each checked like a new
// address, and a request with somebody's key in it stays at its origin. Elsewhere no exception of the operator holds:
// not in the text of the address, and not in what its name resolves to.
import type { EgressPolicy } from './egress/policy.ts';
import { nextHop } from './egress/redirects.ts';
import { beginExchange, type Door, exchangeOnce, type HttpAnswer, type HttpRequest } from './http-exchange.ts';

/** Errors as `exchangeOnce`, those of `nextHop`, and EgressDeniedError. */
export function exchange(door: Door, request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const done = (answer: HttpAnswer): void => {
      const isRedirect = answer.status >= 300 && answer.status < 400;
      resolve(isRedirect ? follow(door, request, answer) : answer);
    };
    beginExchange(door, request, done, reject);
  });
}

async function follow(door: Door, first: HttpRequest, redirect: HttpAnswer): Promise<HttpAnswer> {
  let request = first;
  let answer = redirect;
  let lane: Pick<Door, 'dispatcher' | 'policy' | 'clock'> = door;
  for (let followed = 0; ; followed++) {
    const next = nextRequest(request, answer, followed, lane.policy);
    if (next === undefined) return answer;
    // Also for what follows from there: it is a stranger's word from now on, wherever it leads.
    if (next.origin !== request.origin)
      lane = { dispatcher: door.elsewhere, policy: door.policy.withoutExceptions, clock: door.clock };
    request = next;
    answer = await exchangeOnce(lane, request);
  }
}

function nextRequest(
  request: HttpRequest,
  answer: HttpAnswer,
  followed: number,
  policy: EgressPolicy,
): HttpRequest | undefined {
  const { method, carriesCredential = true } = request;
  const hop = { url: request.origin + request.path, method, hasBody: request.body !== undefined, carriesCredential };
  const next = nextHop(hop, answer, followed, policy);
  if (next === undefined) return undefined;
  const { origin, pathname, search } = new URL(next.url);
  const headers = next.isSameOrigin ? request.headers : plainHeaders(request.headers);
  return { ...request, origin, path: pathname + search, headers };
}

/** What says nothing about anybody. Every other header may be a key, whatever its name. */
const PLAIN = new Set(['accept', 'accept-encoding', 'accept-language']);

function plainHeaders(headers: readonly string[]): string[] {
  return headers.filter((_, at) => PLAIN.has((headers[at - (at % 2)] as string).toLowerCase()));
}
