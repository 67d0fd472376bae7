// One request by hand: the path and the headers go out as they stand here, `Host` among them.
import http from 'node:http';
import { within } from './within.ts';

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Asker {
  ask(asked: Asked): Promise<Told>;
  close(): void;
}

/** Over connections that stay open until `close`. */
export function createAsker(url: () => string): Asker {
  const agent = new http.Agent({ keepAlive: true });
  return { ask: (asked) => askOver(agent, url(), asked), close: () => agent.destroy() };
}

/** With `agent` false over a connection of its own. */
export const askOver = (
  agent: http.Agent | false,
  url: string,
  { method = 'GET', path, headers, body }: Asked,
): Promise<Told> =>
  within(
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const request = http.request({ hostname, port, path, method, headers, agent }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      request.on('error', reject);
      request.end(body);
    }),
    'an answer',
  );
