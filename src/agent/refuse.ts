// What goes wrong, as an HTTP answer: a bad message by its own code, everything else by the error table.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ProxyError, toProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { ERROR_TABLE, toRpcError } from './errors.ts';
import { BadMessage } from './message.ts';
import type { McpRoute } from './route.ts';
import { sendError } from './send-error.ts';

/** WWW-Authenticate for a request without a good credential. */
export type Challenge = (request: IncomingMessage, route: McpRoute, error: ProxyError) => string;

/** Says nothing where an answer was begun already. */
export interface Refuse {
  /** `idText` is JSON text: the request it answers. */
  (response: ServerResponse, route: McpRoute, thrown: unknown, idText?: string): void;
  /** Before any message was read, or where there is none: the status says by itself what is wrong. */
  atTheDoor(response: ServerResponse, route: McpRoute, thrown: unknown): void;
}

export function createRefuse(challenge: Challenge, logger: Logger): Refuse {
  const tell = (
    response: ServerResponse,
    route: McpRoute,
    thrown: unknown,
    idText: string,
    statusBy: 'carrier' | 'http',
  ): void => {
    if (thrown instanceof BadMessage) {
      refuseMessage(response, thrown, idText);
      return;
    }
    const error = toProxyError(thrown);
    if (error.code === 'internal') logger.error({ error: describeError(error) }, 'request failed');
    const { error: told, retryAfterMs } = toRpcError(error);
    const headers: string[] = retryAfterMs === undefined ? [] : ['retry-after', String(Math.ceil(retryAfterMs / 1000))];
    if (error.code === 'unauthenticated' || error.code === 'insufficient_scope')
      headers.push('www-authenticate', challenge(response.req, route, error));
    sendError(response, ERROR_TABLE[error.code][statusBy], told, idText, headers);
  };
  return Object.assign(
    (response: ServerResponse, route: McpRoute, thrown: unknown, idText = 'null') =>
      tell(response, route, thrown, idText, 'carrier'),
    {
      atTheDoor: (response: ServerResponse, route: McpRoute, thrown: unknown) =>
        tell(response, route, thrown, 'null', 'http'),
    },
  );
}

function refuseMessage(response: ServerResponse, bad: BadMessage, idText: string): void {
  // What is left of a body that is too large is not read.
  const headers = bad.status === 413 ? ['connection', 'close'] : [];
  const error = { code: bad.code, message: bad.message, ...(bad.data === undefined ? {} : { data: bad.data }) };
  sendError(response, bad.status, error, bad.idText === 'null' ? idText : bad.idText, headers);
}
