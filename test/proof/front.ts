// One public address in front of several nodes. The pages a browser asks for are served by them in turn, so that
// no page can rely on the node of the page before.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../support/upstreams/listener.ts';
import { within } from '../support/within.ts';

interface Node {
  readonly url: string;
}

export interface Front {
  /**
   * Without path. A name, while the other servers of a test are at 127.0.0.1: to a browser that is another site,
   * so cookies keep the rules they have between strangers.
   */
  readonly url: string;
  toward(...nodes: readonly Node[]): void;
  /** How many pages each node has served since it was set. */
  readonly served: readonly number[];
  /** The next request below this path is not passed on, and its browser stays where it is; gives the address. */
  catch(path: string): Promise<string>;
  close(): Promise<void>;
}

export async function startFront(): Promise<Front> {
  let nodes: readonly Node[] = [];
  let served: number[] = [];
  let turn = 0;
  const catching = new Map<string, (url: string) => void>();

  const caught = (path: string): boolean => {
    for (const [begins, tell] of catching) {
      if (!path.startsWith(begins)) continue;
      catching.delete(begins);
      tell(`${front.url}${path}`);
      return true;
    }
    return false;
  };

  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const path = req.url ?? '/';
    if (caught(path)) return void res.writeHead(204).end();
    // Styles do not count, or each page would be served by the node of the page before.
    const at = (req.headers['sec-fetch-dest'] === 'style' ? turn : turn++) % nodes.length;
    served[at] = (served[at] ?? 0) + 1;
    passOn(`${nodes[at]?.url ?? ''}${path}`, req, res);
  };

  const listener = await listen(serve);
  const front: Front = {
    url: `http://localhost:${new URL(listener.url).port}`,
    toward(...meant) {
      nodes = meant;
      served = meant.map(() => 0);
    },
    get served() {
      return served;
    },
    catch(path) {
      const came = new Promise<string>((resolve) => catching.set(path, resolve));
      return within(came, `a request for ${path}`, 10_000);
    },
    close: () => listener.close(),
  };
  return front;
}

function passOn(url: string, req: IncomingMessage, res: ServerResponse): void {
  const onward = http.request(url, { method: req.method, headers: req.headers, agent: false }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  onward.once('error', () => res.destroy());
  res.once('close', () => onward.destroy());
  req.pipe(onward);
}
