// A server of the 2024-11-05 transport on node:http whose every answer the test decides.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OldMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly _meta?: { readonly progressToken?: number };
    readonly requestId?: number;
  };
  readonly error?: { readonly code: number };
  readonly result?: unknown;
}

export interface OldSession {
  /** Text as it is to stand on the stream. */
  write(raw: string): void;
  event(message: string): void;
  drop(): void;
}

export interface OldOptions {
  /** Answers the GET itself when it gives true. */
  readonly onGet?: (req: IncomingMessage, res: ServerResponse) => boolean;
  /** Answers the POST itself when it gives true. */
  readonly onPost?: (message: OldMessage, res: ServerResponse) => boolean;
  readonly endpoint?: string;
  readonly onMessage?: (message: OldMessage, session: OldSession) => void;
}

export interface OldServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
  readonly messages: OldMessage[];
  readonly openStreams: () => number;
  /** Ends every stream as an answer ends whose socket may be used again. */
  readonly endStreams: () => void;
  /** On every open stream. */
  readonly event: (message: string) => void;
  close(): Promise<void>;
}

export async function anOldSseServer(options: OldOptions = {}): Promise<OldServer> {
  const requests: IncomingMessage[] = [];
  const messages: OldMessage[] = [];
  const streams = new Set<ServerResponse>();
  const server = createServer((req, res) => {
    requests.push(req);
    if (req.method === 'GET') get(req, res);
    else void post(req, res);
  });
  const get = (req: IncomingMessage, res: ServerResponse): void => {
    if (options.onGet?.(req, res) === true) return;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: endpoint\ndata: ${options.endpoint ?? '/message?sessionId=1'}\n\n`);
    streams.add(res);
    res.on('close', () => streams.delete(res));
  };
  const session: OldSession = {
    write: (raw) => {
      for (const stream of streams) stream.write(raw);
    },
    event: (message) => session.write(`event: message\ndata: ${message}\n\n`),
    drop: () => {
      for (const stream of streams) stream.destroy();
    },
  };
  const post = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const message = JSON.parse(body) as OldMessage;
    messages.push(message);
    if (options.onPost?.(message, res) === true) return;
    res.writeHead(202).end('Accepted');
    if (message.method === 'initialize') {
      session.event(
        JSON.stringify({
          jsonrpc: '2.0',
          id: message.id,
          result: {
            protocolVersion: '2024-11-05',
            capabilities: { tools: {} },
            serverInfo: { name: 'old', version: '1' },
          },
        }),
      );
    } else options.onMessage?.(message, session);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`,
    requests,
    messages,
    openStreams: () => streams.size,
    endStreams: () => {
      for (const stream of streams) stream.end();
    },
    event: (message) => session.event(message),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
