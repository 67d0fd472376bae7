// Calls as the proxy makes them, and what comes of them.
import type { Connection, UpstreamRequest } from '../../src/connection/connection.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { call as plainCall } from '../support/stdio/a-stdio-server.ts';
import type { BadMode, BadServer, BadServerOptions } from '../support/upstreams/bad-server.ts';
import { within } from '../support/within.ts';
import { anHttpServer, type HttpBench } from './http-bench.ts';

/** A connection to a bad server, which is well until it is called. */
export async function toBad(
  bench: HttpBench,
  mode: BadMode,
  options: BadServerOptions = {},
): Promise<{ server: BadServer; connection: Connection }> {
  const server = await bench.bad(mode, options);
  return { server, connection: await bench.dialed(anHttpServer(server.url)) };
}

/** As the proxy calls: a modern server is told the name in a header as well. */
export const call = (
  connection: Connection,
  name: string,
  args: Record<string, unknown> = {},
  more: Partial<UpstreamRequest> = {},
): Promise<Reply> => plainCall(connection, name, args, { name, ...more });

export const called = (connection: Connection): Promise<unknown> =>
  within(
    call(connection, 'echo', { a: 1 }).catch((error: unknown) => error),
    'the call',
  );
