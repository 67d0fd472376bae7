// Stands in front of one of Keybearer's servers for a suite that cannot send a key: adds the key and nothing
// else. What the suite says (Host, Origin, each header as it is written) and what it is told pass as they are,
// as they come.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Shim {
  readonly url: string;
  close(): Promise<void>;
}

export async function startShim(target: string, key: string): Promise<Shim> {
  const { hostname, port, pathname } = new URL(target);
  const server = http.createServer((request, response) => {
    const headers = [...withoutConnection(request.rawHeaders), 'Authorization', `Bearer ${key}`];
    const onward = http.request({ hostname, port, path: pathname, method: request.method, headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutConnection(answer.rawHeaders));
      response.flushHeaders();
      answer.pipe(response);
      // An answer that breaks off has to break off here too.
      answer.once('close', () => answer.complete || response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own.port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Names and values in turn; how a connection is held belongs to each connection. */
const withoutConnection = (raw: readonly string[]): string[] =>
  raw.filter((_, index) => !/^(?:connection|keep-alive)$/i.test(raw[index - (index % 2)] ?? ''));
