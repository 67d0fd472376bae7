// The streams that agents listen on: the GET stream of a legacy session, and `subscriptions/listen`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../identity/caller.ts';
import { toProxyError } from '../shared/errors.ts';
import { META_SUBSCRIPTION } from '../wire/era.ts';
import { isJsonObject } from '../wire/reply.ts';
import { eventOf } from '../wire/sse.ts';
import type { Listeners } from './listeners.ts';
import { BadMessage, type Incoming } from './message.ts';
import type { McpRoute } from './route.ts';
import type { Session } from './sessions.ts';

export type Authenticate = (request: IncomingMessage, route: McpRoute) => Caller | Promise<Caller>;

/** Who wants to listen, and over which answer. */
export interface Ear {
  readonly caller: Caller;
  readonly response: ServerResponse;
  readonly route: McpRoute;
}

export interface Streams {
  /** 2026-07-28 §basic/patterns/subscriptions. Throws BadMessage. */
  listen(ear: Ear, incoming: Incoming): void;
  /** The session's own; one that is open already ends. */
  open(ear: Ear, session: Session): void;
}

const TOOLS_CHANGED = eventOf('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');

export function createStreams(listeners: Listeners, authenticate: Authenticate): Streams {
  /** Rejects never; a store that is down says nothing about a token. */
  const mayStay = async ({ caller, response, route }: Ear): Promise<boolean> => {
    try {
      return (await authenticate(response.req, route)).key === caller.key;
    } catch (error) {
      const { code } = toProxyError(error);
      return code !== 'unauthenticated' && code !== 'insufficient_scope';
    }
  };

  return {
    /** First what is honoured, then what happens, an empty result at our end. */
    listen(ear, { idText, params }) {
      const asked = params['notifications'];
      if (!isJsonObject(asked))
        throw new BadMessage(400, -32602, 'params.notifications must say what to listen for.', idText);
      const honoured = asked['toolsListChanged'] === true ? '"toolsListChanged":true' : '';
      const meta = `"_meta":{"${META_SUBSCRIPTION}":${idText}}`;
      const greeting = eventOf(
        `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{${honoured}},${meta}}}`,
      );
      const toolsChanged =
        honoured === ''
          ? ''
          : eventOf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{${meta}}}`);
      const goodbye = eventOf(`{"jsonrpc":"2.0","id":${idText},"result":{"resultType":"complete",${meta}}}`);
      listeners.add({ ...ear, toolsChanged, goodbye, mayStay: () => mayStay(ear) }, greeting);
    },

    open(ear, session) {
      session.stream?.end();
      const stream = listeners.add(
        { ...ear, toolsChanged: TOOLS_CHANGED, goodbye: '', mayStay: () => mayStay(ear) },
        ': listening\n\n',
      );
      session.stream = stream;
      ear.response.on('close', () => {
        if (session.stream === stream) session.stream = undefined;
      });
    },
  };
}
