// A front with a public address below a path of its own, over nodes that know only that address: each request is
// served by the next node.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestApp } from '../support/app.ts';
import { listen } from '../support/upstreams/listener.ts';

const PREFIX = '/mcp-proxy';

export interface PrefixedFront {
  /** Ends with a slash, as operators write it. */
  readonly publicUrl: string;
  /** The path, without the prefix, of every request. */
  readonly paths: readonly string[];
  toward(...nodes: readonly TestApp[]): void;
  close(): Promise<void>;
}

export async function startPrefixedFront(): Promise<PrefixedFront> {
  const paths: string[] = [];
  let nodes: readonly TestApp[] = [];
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const path = req.url ?? '';
    if (!path.startsWith(`${PREFIX}/`)) return void res.writeHead(404).end();
    const inner = path.slice(PREFIX.length);
    const node = nodes[paths.push(inner) % nodes.length];
    const onward = http.request(
      `${node?.url ?? ''}${inner}`,
      { method: req.method, headers: req.headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    onward.once('error', () => res.destroy());
    req.pipe(onward);
  };
  const listener = await listen(serve);
  return {
    publicUrl: `${new URL(listener.url).origin}${PREFIX}/`,
    paths,
    toward: (...meant) => void (nodes = meant),
    close: () => listener.close(),
  };
}
